((method_declaration (attribute_list (attribute name: (identifier) @_test)) name: (identifier) @test.name) @test
  (#match? @_test "^(Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod|Property)$"))
(class_declaration name: (identifier) @suite.name) @suite
((method_declaration (attribute_list (attribute name: (identifier) @_skip))) @skip (#match? @_skip "^(Ignore|Explicit|Skip)$"))
((method_declaration (attribute_list (attribute (attribute_argument_list (attribute_argument name: (identifier) @_skip))))) @skip
  (#match? @_skip "^(Skip|Ignore)$"))
((invocation_expression function: (member_access_expression expression: (identifier) @_called)) @assertion
  (#match? @_called "Assert$"))
((invocation_expression function: (member_access_expression name: (identifier) @_called)) @assertion
  (#match? @_called "^(Should|Verify)"))
((invocation_expression function: (member_access_expression expression: (identifier) @_on name: (identifier) @_called)
  arguments: (argument_list . (argument (boolean_literal)))) @idle (#eq? @_on "Assert") (#match? @_called "^(True|IsTrue|That)$"))
((attribute name: (identifier) @_mute) @suppression (#eq? @_mute "SuppressMessage"))
[(string_literal_content) (integer_literal) (real_literal)] @literal
(comment) @comment
