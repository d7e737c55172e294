"""OpenVINO's speed, inference alone. Forms: stock, in float32; bf16."""
import peer

RUN_ONLY = ("infer", "latency", "startup", "predict")
OPTIONS = peer.parse_options(RUN_ONLY, ("stock", "bf16"))
try:
    import openvino
    from onnx_file import model_file, images
except ImportError as error:
    peer.not_installed(error)

PRECISION = "bf16" if OPTIONS.form == "bf16" else "f32"
SETTINGS = {"INFERENCE_NUM_THREADS": OPTIONS.threads, "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": PRECISION}


def make_peer() -> peer.Peer:
    model = openvino.Core().compile_model(str(model_file(OPTIONS)), "CPU", SETTINGS)
    taken = model.get_property("INFERENCE_PRECISION_HINT").to_string()
    if taken != PRECISION:
        raise RuntimeError(f"asked for {PRECISION}, OpenVINO computes in {taken}")
    request = model.create_infer_request()
    x = images(OPTIONS)
    version = openvino.__version__.split("-")[0]
    return peer.Peer(lambda: request.infer({0: x}, share_inputs=True)[0],
                     f"OpenVINO {version}, one stream, {PRECISION}")


if __name__ == "__main__":
    peer.report(OPTIONS, "openvino", make_peer())
