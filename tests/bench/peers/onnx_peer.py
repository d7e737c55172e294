"""ONNX Runtime's speed, inference alone. Forms: stock; int8, with weights of 8 bits."""
import peer

RUN_ONLY = ("infer", "latency", "startup", "predict")
OPTIONS = peer.parse_options(RUN_ONLY, ("stock", "int8"))
try:
    import onnxruntime
    from onnx_file import model_file, images
except ImportError as error:
    peer.not_installed(error)


def make_peer() -> peer.Peer:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = OPTIONS.threads
    settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model_file(OPTIONS)), settings,
                                           backends=["CPUExecutionProvider"])
    x = images(OPTIONS)
    weights = ", weights of 8 bits" if OPTIONS.form == "int8" else ""
    return peer.Peer(lambda: session.run(None, {"x": x})[0],
                     f"ONNX Runtime {onnxruntime.__version__}, all graph optimizations{weights}")


if __name__ == "__main__":
    peer.report(OPTIONS, "onnxruntime", make_peer())
