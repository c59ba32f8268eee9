(package_clause (package_identifier) @package)
(call_expression function: [(identifier) (selector_expression operand: (identifier))]) @call
(function_declaration name: (identifier) @defined !type_parameters)
[(interpreted_string_literal) (raw_string_literal) (int_literal) (float_literal)] @literal
