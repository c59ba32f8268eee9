; Heads of what others may call, and where what they do begins.
(function_definition body: (block) @body) @part
(class_definition body: (block) @body) @part
