"""OpenVINO's speed, inference alone, in float32."""
import peer

OPTIONS = peer.parse_options(("infer", "latency", "startup"), ("stock",))
try:
    import numpy
    import openvino
except ImportError as error:
    peer.not_installed(error)
from onnx_file import model_file

SETTINGS = {"INFERENCE_NUM_THREADS": OPTIONS.threads, "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}


def make_peer() -> peer.Peer:
    model = openvino.Core().compile_model(str(model_file(OPTIONS)), "CPU", SETTINGS)
    request = model.create_infer_request()
    shape = (OPTIONS.batch, *peer.SHAPES[OPTIONS.model])
    pictures = numpy.random.default_rng(0).random(shape, dtype=numpy.float32)
    version = openvino.__version__.split("-")[0]
    return peer.Peer(lambda: request.infer({0: pictures}, share_inputs=True)[0],
                     f"OpenVINO {version}, one stream, float32")


if __name__ == "__main__":
    peer.report(OPTIONS, "openvino", make_peer())
