((function_declaration name: (identifier) @test.name parameters: (parameter_list (parameter_declaration))) @test
  (#match? @test.name "^(Test|Fuzz|Example)"))
((call_expression function: (selector_expression field: (field_identifier) @_skip)) @skip (#match? @_skip "^(Skip|Skipf|SkipNow)$"))
((call_expression function: (selector_expression operand: (identifier) @_on field: (field_identifier) @_called)) @assertion
  (#match? @_on "^(t|b|f|tb|assert|require|is|c|s|suite)$")
  (#match? @_called "^(Error|Errorf|Fatal|Fatalf|Fail|FailNow|[A-Z].*)$")
  (#not-match? @_called "^(Skip|Run|Log|Helper|Parallel|Cleanup|TempDir|Setenv|Name)"))
[(interpreted_string_literal_content) (raw_string_literal_content) (int_literal) (float_literal)] @literal
(comment) @comment
