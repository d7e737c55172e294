# Lists the configuration structs by the exported functions: STRUCT(svit_matmul) for svit_matmul_init,
# JSON(svit_loader_config) for svit_loader_config_from_json.
sub(/_init@.*/, "") { print "STRUCT(" $0 ")" }
sub(/_config_from_json@.*/, "_config") { print "JSON(" $0 ")" }
