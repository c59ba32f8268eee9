; Imports: a module, or a name of one.
(import_statement name: (dotted_name) @module)
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @local))
(import_from_statement module_name: (dotted_name) @module name: (dotted_name) @name)
(import_from_statement module_name: (dotted_name) @module
  name: (aliased_import name: (dotted_name) @name alias: (identifier) @local))

(call function: [(identifier) (attribute)]) @call
[(comparison_operator (attribute) @call) (argument_list (attribute) @call)]

(module (function_definition name: (identifier) @defined))
(module (decorated_definition definition: (function_definition name: (identifier) @defined)))
(module (class_definition name: (identifier) @defined))
(module (decorated_definition definition: (class_definition name: (identifier) @defined)))
(module (expression_statement (assignment left: (identifier) @defined)))

[(integer) (float) (string)] @literal

; Comparisons, on either side.
(assert_statement (comparison_operator . (_) @compared . ["==" "is"] . (_) @expected .))
(assert_statement (comparison_operator . (_) @expected . ["==" "is"] . (_) @compared .))
(assert_statement (parenthesized_expression (comparison_operator . (_) @compared . ["==" "is"] . (_) @expected .)))
(assert_statement (parenthesized_expression (comparison_operator . (_) @expected . ["==" "is"] . (_) @compared .)))
((call function: (_) @_equal arguments: [
   (argument_list . (_) @compared . (_) @expected) (argument_list . (_) @expected . (_) @compared)])
  (#match? @_equal "^(.*[.])?assert((List|Tuple|Dict)?Equal|Equals|Is)$"))

; Assertions of truth.
(assert_statement . (call) @true)
(assert_statement . (not_operator argument: (_) @false))
((call function: (_) @_true arguments: (argument_list . (_) @true)) (#match? @_true "[.]assertTrue$"))
((call function: (_) @_false arguments: (argument_list . (_) @false)) (#match? @_false "[.]assertFalse$"))
