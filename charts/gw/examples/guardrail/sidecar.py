"""A guardrail sidecar: the guardrail webhook API of kgateway and agentgateway, with Microsoft Presidio behind it.

It finds what patterns can find: e-mail addresses, card numbers, IBANs, phone numbers, IP addresses and more. Names of
people and places need a language model of spaCy, which this example leaves out. Words are sent to no other service.

    pip install -r requirements.txt
    python sidecar.py --port 9000 --block CREDIT_CARD,US_SSN
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tldextract.tldextract as domains
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import NlpEngineProvider

BODY_BYTES_MAX = 32 * 1024 * 1024
NO_MODEL = {"nlp_engine_name": "no_op", "models": [{"lang_code": "en", "model_name": "no_op"}]}


def open_analyzer():
    # Addresses are checked against the list in the package; else the newest one is fetched from the internet.
    domains.TLD_EXTRACTOR = domains.TLDExtract(suffix_list_urls=())
    nlp = NlpEngineProvider(nlp_configuration=NO_MODEL).create_engine()
    registry = RecognizerRegistry()
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=nlp)
    return AnalyzerEngine(registry=registry, nlp_engine=nlp, supported_languages=["en"])


def masked(text, findings):
    """The text with each finding replaced by its kind; of two that overlap the longer one counts."""
    taken = []
    for one in sorted(findings, key=lambda found: (found.start - found.end, -found.score)):
        if all(one.end <= other.start or one.start >= other.end for other in taken):
            taken.append(one)
    for one in sorted(taken, key=lambda found: -found.start):
        text = f"{text[:one.start]}<{one.entity_type}>{text[one.end:]}"
    return text


class Judge:
    def __init__(self, blocked, score_min):
        self.analyzer = open_analyzer()
        self.blocked = blocked
        self.score_min = score_min

    def action(self, side, body):
        """Pass, Mask or Reject, which the gateway tells apart by their members."""
        messages = body["messages"] if side == "request" else [one["message"] for one in body["choices"]]
        found = [self.find(one["content"]) for one in messages]
        kinds = sorted({one.entity_type for findings in found for one in findings})
        reason = ", ".join(kinds)
        if self.blocked.intersection(kinds):
            return {"body": f"It holds personal data: {reason}.", "status_code": 403, "reason": reason}
        if not kinds:
            return {}
        fresh = [
            {**one, "content": masked(one["content"], findings)}
            for one, findings in zip(messages, found)
        ]
        shown = {"messages": fresh} if side == "request" else {"choices": [{"message": one} for one in fresh]}
        return {"body": shown, "reason": reason}

    def find(self, text):
        return self.analyzer.analyze(text=text, language="en", score_threshold=self.score_min)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    judge = None

    def do_GET(self):
        self.answer(200 if self.path == "/health" else 404, {})

    def do_POST(self):
        side = self.path.rsplit("/", 1)[-1]
        length = int(self.headers.get("content-length", 0))
        if side not in ("request", "response") or length > BODY_BYTES_MAX:
            self.close_connection = True
            return self.answer(404, {})
        try:
            body = json.loads(self.rfile.read(length))["body"]
            action = self.judge.action(side, body)
        except (KeyError, TypeError, ValueError):
            return self.answer(400, {"error": "This is not the guardrail webhook API."})
        return self.answer(200, {"action": action})

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Prompts stay out of logs."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9000)
    parser.add_argument("--block", default="", help="kinds that block instead of being masked, with commas")
    parser.add_argument("--score", type=float, default=0.4, help="certainty from which a finding counts")
    options = parser.parse_args()
    Handler.judge = Judge(set(filter(None, options.block.split(","))), options.score)
    server = ThreadingHTTPServer((options.host, options.port), Handler)
    print(f"listening on http://{options.host}:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
