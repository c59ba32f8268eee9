((function_declaration (modifiers (annotation [
    (user_type (identifier) @_test) (constructor_invocation (user_type (identifier) @_test))
  ])) name: (identifier) @test.name) @test
  (#match? @_test "^(Test|ParameterizedTest|RepeatedTest|TestFactory)$"))
(class_declaration name: (identifier) @suite.name) @suite
((function_declaration (modifiers (annotation [
    (user_type (identifier) @_skip) (constructor_invocation (user_type (identifier) @_skip))
  ]))) @skip (#match? @_skip "^(Disabled|Ignore)"))
((class_declaration (modifiers (annotation [
    (user_type (identifier) @_skip) (constructor_invocation (user_type (identifier) @_skip))
  ]))) @skip (#match? @_skip "^(Disabled|Ignore)"))
((call_expression (identifier) @_called) @assertion (#match? @_called "^(assert|verify|expect|fail$|should)"))
((annotation (constructor_invocation (user_type (identifier) @_mute))) @suppression (#match? @_mute "^Suppress"))
((call_expression (identifier) @_called) @double (#match? @_called "^(mockk|spyk|mockkObject|mockkStatic)$"))
[(string_content) (number_literal)] @literal
[(line_comment) (block_comment)] @comment
