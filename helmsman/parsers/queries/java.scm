((method_declaration (modifiers [(marker_annotation name: (identifier) @_test) (annotation name: (identifier) @_test)])
  name: (identifier) @test.name) @test
  (#match? @_test "^(Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property|Theory)$"))
(class_declaration name: (identifier) @suite.name) @suite
((method_declaration (modifiers [(marker_annotation name: (identifier) @_skip) (annotation name: (identifier) @_skip)])) @skip
  (#match? @_skip "^(Disabled|Ignore)"))
((class_declaration (modifiers [(marker_annotation name: (identifier) @_skip) (annotation name: (identifier) @_skip)])) @skip
  (#match? @_skip "^(Disabled|Ignore)"))
((method_invocation name: (identifier) @_called) @assertion (#match? @_called "^(assert|verify|expect|fail$|then$)"))
(assert_statement) @assertion
((method_invocation name: (identifier) @_called arguments: (argument_list . (true) .)) @idle (#eq? @_called "assertTrue"))
((annotation name: (identifier) @_mute) @suppression (#match? @_mute "^Suppress"))
((method_invocation name: (identifier) @_called arguments: (argument_list) @double.of) @double
  (#match? @_called "^(mock|spy|mockStatic|mockConstruction)$"))
[(string_fragment) (decimal_integer_literal) (decimal_floating_point_literal)] @literal
[(line_comment) (block_comment)] @comment
