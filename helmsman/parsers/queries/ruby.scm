((call method: (identifier) @_test arguments: (argument_list . (string) @test.name)) @test
  (#match? @_test "^(it|specify|test|example|scenario|should|xit|fit)$"))
((call method: (identifier) @_test block: (_)) @test (#match? @_test "^(it|specify|example)$"))
((method name: (identifier) @test.name) @test (#match? @test.name "^test_"))
((call method: (identifier) @_suite arguments: (argument_list . (_) @suite.name) block: (_)) @suite
  (#match? @_suite "^(describe|context|feature|shared_examples)$"))
(class name: (constant) @suite.name) @suite
((call method: (identifier) @_skip) @skip (#match? @_skip "^(xit|xdescribe|xcontext|xspecify|skip|pending|omit)$"))
((body_statement (identifier) @skip) (#match? @skip "^(skip|pending)$"))
((call arguments: (argument_list (pair key: (hash_key_symbol) @_skip))) @skip (#match? @_skip "^(skip|pending)$"))
((call method: (identifier) @_only) @focus (#match? @_only "^(fit|fdescribe|fcontext)$"))
((call method: (identifier) @_called) @assertion
  (#match? @_called "^(expect|assert|refute|must_|wont_|should|is_expected|flunk)"))
((call method: (identifier) @_called arguments: (argument_list . (true) .)) @idle (#eq? @_called "assert"))
((call method: (identifier) @_called arguments: (argument_list) @double.of) @double
  (#match? @_called "^(allow|allow_any_instance_of|stub_const|stub_any_instance|stubs)$"))
[(string_content) (integer) (float)] @literal
(comment) @comment
