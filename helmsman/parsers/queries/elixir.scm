(unary_operator) @before
((call target: (identifier) @_test (arguments . (string) @test.name)) @test (#match? @_test "^(test|property)$"))
((call target: (identifier) @_suite (arguments . (_) @suite.name) (do_block)) @suite (#match? @_suite "^(describe|defmodule)$"))
((unary_operator operand: (call target: (identifier) @_tag (arguments) @_skip)) @skip
  (#match? @_tag "^(tag|moduletag|describetag)$") (#match? @_skip "skip"))
((call target: (identifier) @_called) @assertion (#match? @_called "^(assert|refute|flunk|catch_error)"))
((call target: (identifier) @_called (arguments . (boolean) .)) @idle (#eq? @_called "assert"))
[(quoted_content) (integer) (float)] @literal
(comment) @comment
