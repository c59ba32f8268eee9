(attribute_item) @before
((attribute_item (attribute [(identifier) @_test (scoped_identifier name: (identifier) @_test)])) @test.mark
  (#match? @_test "^(test|rstest|test_case|proptest|quickcheck)$"))
(function_item name: (identifier) @test.name) @test.marked
((attribute_item (attribute (identifier) @_cfg arguments: (token_tree) @_test)) @inline.mark
  (#eq? @_cfg "cfg") (#match? @_test "\\btest\\b") (#not-match? @_test "\\bnot\\s*\\("))
(mod_item name: (identifier) @suite.name) @suite @inline.marked
((attribute_item (attribute (identifier) @_skip)) @skip (#eq? @_skip "ignore"))
((attribute_item (attribute (identifier) @_panic)) @assertion (#eq? @_panic "should_panic"))
((macro_invocation macro: [(identifier) @_called (scoped_identifier name: (identifier) @_called)]) @assertion
  (#match? @_called "^(debug_assert|assert|prop_assert|panic|insta|expect)"))
((macro_invocation macro: (identifier) @_called (token_tree . (boolean_literal) @_true)) @idle
  (#match? @_called "^assert$") (#eq? @_true "true"))
((attribute_item (attribute (identifier) @_allow)) @suppression (#match? @_allow "^(allow|expect)$"))
((inner_attribute_item (attribute (identifier) @_allow)) @suppression (#match? @_allow "^(allow|expect)$"))
[(string_content) (integer_literal) (float_literal)] @literal
[(line_comment) (block_comment)] @comment
