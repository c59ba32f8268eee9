(package_clause (package_identifier) @package)
(call_expression function: [(identifier) (selector_expression operand: [(identifier) (call_expression)])]) @call
(function_declaration name: (identifier) @defined !type_parameters)
[(interpreted_string_literal) (raw_string_literal) (int_literal) (float_literal)] @literal

; Comparisons, on either side; `t` is the first argument of Go's assertions.
(binary_expression left: (_) @compared operator: ["==" "!="] right: (_) @expected)
(binary_expression left: (_) @expected operator: ["==" "!="] right: (_) @compared)
((call_expression function: (selector_expression) @_equal arguments: [
   (argument_list . (_) @compared . (_) @expected) (argument_list . (_) @expected . (_) @compared)
   (argument_list . (identifier) @_t . (_) @compared . (_) @expected)
   (argument_list . (identifier) @_t . (_) @expected . (_) @compared)])
  (#match? @_equal "^[a-z]+[.](Equal|Exactly|EqualValues|DeepEqual|Diff)$")
  (#eq? @_t "t") (#not-eq? @compared "t") (#not-eq? @expected "t"))
