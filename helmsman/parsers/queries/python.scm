(module [
  (function_definition name: (identifier) @test.name) @test
  (decorated_definition definition: (function_definition name: (identifier) @test.name) @test)
] (#match? @test.name "^test"))
(class_definition body: (block [
  (function_definition name: (identifier) @test.name) @test
  (decorated_definition definition: (function_definition name: (identifier) @test.name) @test)
]) (#match? @test.name "^test"))
(class_definition name: (identifier) @suite.name) @suite

((decorated_definition (decorator [
  (attribute attribute: (identifier) @_skip)
  (identifier) @_skip
  (call function: [(attribute attribute: (identifier) @_skip) (identifier) @_skip])
])) @skip (#match? @_skip "^(skip|xfail|expectedFailure)$"))
((decorated_definition (decorator (call
  function: [(attribute attribute: (identifier) @_skip) (identifier) @_skip]
  arguments: (argument_list . [(true) (false) (none) (integer) (string) (keyword_argument value: [(true) (false)])])
))) @skip
  (#match? @_skip "^(skip_if|skipif|skipIf|skipUnless)$"))
((expression_statement (call function: (attribute attribute: (identifier) @_skip))) @skip
  (#match? @_skip "^(skip|skipTest|xfail)$"))
((assignment left: (identifier) @_mark right: (_) @_skip) @skip
  (#eq? @_mark "pytestmark") (#match? @_skip "skip|xfail"))

(assert_statement) @assertion
((call function: (attribute attribute: (identifier) @_called)) @assertion
  (#match? @_called "^(assert|fail$|raises$|warns$|deprecated_call$)"))
(assert_statement . [(true) (integer) (string) (tuple)] @_plain .) @idle
(assert_statement (tuple)) @idle
(expression_statement (comparison_operator)) @idle
((call function: (attribute attribute: (identifier) @_called) arguments: (argument_list . (true) .)) @idle
  (#match? @_called "^assert"))

((call function: [(attribute attribute: (identifier) @_called) (identifier) @_called] arguments: (argument_list) @double.of) @double
  (#match? @_called "^(patch|setattr|object|create_autospec|spy)$"))
(assignment left: (attribute) @double.of right: (lambda)) @double

[(string_content) (integer) (float)] @literal
(comment) @comment
