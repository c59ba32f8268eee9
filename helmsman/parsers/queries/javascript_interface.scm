; Signatures of public functions and classes, with the start of their bodies; exports.
(function_declaration body: (statement_block) @body) @part
(generator_function_declaration body: (statement_block) @body) @part
(class_declaration body: (class_body) @body) @part
(method_definition body: (statement_block) @body) @part
(variable_declarator value: (arrow_function body: (_) @body)) @part
(assignment_expression left: (member_expression) right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @part
(assignment_expression left: (member_expression) right: (object (shorthand_property_identifier) @part))
(export_statement (export_clause)) @part
