"""A rewriting service to audit: POST a text, get it back with words swapped. Usage: service.py PORT."""

import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PUBLIC = ("rome", "paris", "dog", "cat", "food")


class Rewriter(BaseHTTPRequestHandler):
    """Keeps a word of the list with probability 0.3, else draws one; words that are not on the list never pass."""

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        words = [
            word if word in PUBLIC and secrets.randbelow(100) < 30 else secrets.choice(PUBLIC) for word in text.split()
        ]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(" ".join(words).encode())

    def log_message(self, *_):
        """Say nothing of requests: they are private."""


if __name__ == "__main__":
    ThreadingHTTPServer(("localhost", int(sys.argv[1])), Rewriter).serve_forever()
