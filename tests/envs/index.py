"""A package index on this host, as uv sees one on the web: wheels come by HTTP and go through its cache."""

import json
import threading
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@contextmanager
def serve(folder: Path, *, sizes: bool = True):
    """Serve the wheels of a folder, with or without their sizes (PEP 700); gives the index's URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            kind, _, name = self.path.strip("/").partition("/")
            if kind == "files":
                self.answer((folder / name).read_bytes(), "application/octet-stream")
            else:
                self.answer(self.listing(name.strip("/")), "application/vnd.pypi.simple.v1+json")

        def answer(self, body, content_type):
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def listing(self, project):
            wheels = [path for path in folder.glob("*.whl") if path.name.partition("-")[0] == project]
            entries = [{"filename": w.name, "url": f"/files/{w.name}", **facts(w)} for w in wheels]
            meta = {"meta": {"api-version": "1.1"}, "name": project, "versions": ["1.0"], "files": entries}
            return json.dumps(meta).encode()

        def log_message(self, *words):
            pass

    def facts(wheel):
        data = wheel.read_bytes()
        size = {"size": len(data)} if sizes else {}
        return {"hashes": {"sha256": sha256(data).hexdigest()}, **size}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()
        server.server_close()
