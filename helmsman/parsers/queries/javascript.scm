((call_expression
  function: [
    (identifier) @_test
    (member_expression object: (identifier) @_test)
    (call_expression function: (member_expression object: (identifier) @_test))
    (call_expression function: (member_expression object: (member_expression object: (identifier) @_test)))
  ]
  arguments: (arguments . [(string) (template_string)] @test.name)) @test
  (#match? @_test "^(it|test|specify|xit|xtest|xspecify|fit|ftest)$"))
((call_expression
  function: [(identifier) @_suite (member_expression object: (identifier) @_suite)]
  arguments: (arguments . [(string) (template_string)] @suite.name)) @suite
  (#match? @_suite "^(describe|context|suite|xdescribe|xcontext|fdescribe)$"))

((call_expression function: (member_expression object: [
    (identifier) @_test (member_expression object: (identifier) @_test)
  ] property: (property_identifier) @_skip)) @skip
  (#match? @_test "^(it|test|specify|describe|context|suite|t|this)$")
  (#match? @_skip "^(skip|todo|failing|fails|fixme)$"))
((call_expression function: (call_expression
  function: (member_expression property: (property_identifier) @_skip) arguments: (arguments . [(true) (false) (number)])))
  @skip (#match? @_skip "^(skipIf|runIf)$"))
((call_expression function: (identifier) @_skip) @skip (#match? @_skip "^(xit|xtest|xspecify|xdescribe|xcontext)$"))
((call_expression arguments: (arguments (_) (object (pair key: (property_identifier) @_skip)))) @skip
  (#match? @_skip "^(skip|todo)$"))
((call_expression function: (member_expression object: (identifier) @_test property: (property_identifier) @_only)) @focus
  (#match? @_test "^(it|test|specify|describe|context|suite)$") (#eq? @_only "only"))
((call_expression function: (identifier) @_only) @focus (#match? @_only "^(fit|ftest|fdescribe)$"))

((call_expression function: (identifier) @_called) @assertion (#match? @_called "^(expect|assert|should)"))
((call_expression function: (member_expression object: (identifier) @_called)) @assertion
  (#match? @_called "^(assert|t|chai)$"))
((expression_statement (call_expression function: (identifier) @_called)) @idle (#match? @_called "^(expect|should)$"))
((call_expression function: (member_expression object: (call_expression function: (identifier) @_called
  arguments: (arguments . [(true) (number)] .)))) @idle (#eq? @_called "expect"))
((call_expression function: [(identifier) @_called (member_expression object: (identifier) @_called)]
  arguments: (arguments . (true))) @idle (#eq? @_called "assert"))

((call_expression function: (member_expression object: (identifier) @_owner property: (property_identifier) @_called)
  arguments: (arguments) @double.of) @double
  (#match? @_owner "^(jest|vi|sinon|td|mock)$") (#match? @_called "^(mock|doMock|unstable_mockModule|spyOn|stub|replace|method|module)$"))

[(string_fragment) (number)] @literal
(comment) @comment
