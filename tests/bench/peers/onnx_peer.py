"""ONNX Runtime's speed, inference alone."""
import peer

OPTIONS = peer.parse_options(("infer", "latency", "startup"), ("stock",))
try:
    import numpy
    import onnxruntime
except ImportError as error:
    peer.not_installed(error)
from onnx_file import model_file


def make_peer() -> peer.Peer:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = OPTIONS.threads
    settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model_file(OPTIONS)), settings,
                                           providers=["CPUExecutionProvider"])
    shape = (OPTIONS.batch, *peer.SHAPES[OPTIONS.model])
    pictures = numpy.random.default_rng(0).random(shape, dtype=numpy.float32)
    return peer.Peer(lambda: session.run(None, {"x": pictures})[0],
                     f"ONNX Runtime {onnxruntime.__version__}, all graph optimizations")


if __name__ == "__main__":
    peer.report(OPTIONS, "onnxruntime", make_peer())
