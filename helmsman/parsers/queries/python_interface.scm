; Signatures of public functions and classes, with the start of their bodies.
(function_definition body: (block) @body) @part
(class_definition body: (block) @body) @part
