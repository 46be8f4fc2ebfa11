# SPDX-License-Identifier: Apache-2.0
"""A server for tests: collector.py DIR [CERT KEY]. It writes its port to DIR/port, each request to DIR/N.json (method,
path, headers, and the parts of a form or the body in DIR/N.NAME), and answers with the statuses in DIR/answers, one a line:
"503", "503 7" (Retry-After), "302", "full" (200, but not ok), "page" (200, HTML), "hang" (nothing, until the client leaves), "400" with an
answer of 70,000 bytes; 200 when there are no more."""
import email, email.policy, http.server, json, os, ssl, sys

where = sys.argv[1]
count = 0


def save(n, name, data):
    with open(f"{where}/{n}.{name}", "wb") as f:
        f.write(data)


class Handler(http.server.BaseHTTPRequestHandler):
    def take(self):
        global count
        count += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        parts = {}
        if self.headers.get("Content-Type", "").startswith("multipart/form-data"):
            text = b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body
            for part in email.message_from_bytes(text, policy=email.policy.HTTP).iter_parts():
                name = part.get_param("name", header="Content-Disposition")
                parts[name] = [part.get_filename(), part.get_content_type()]
                save(count, name, part.get_payload(decode=True))
        else:
            save(count, "body", body)
        with open(f"{where}/{count}.json", "w") as f:
            json.dump({"method": self.command, "path": self.path, "headers": dict(self.headers), "parts": parts}, f)
        self.answer()

    def answer(self):
        try:
            with open(f"{where}/answers") as f:
                todo = f.read().splitlines()
        except FileNotFoundError:
            todo = []
        if todo and todo[0] == "hang":
            with open(f"{where}/answers", "w") as f:
                f.write("\n".join(todo[1:]))
            self.connection.settimeout(120)
            self.close_connection = not self.rfile.read(1)
            return
        status, *after = (todo[0] if todo else "200").split()
        with open(f"{where}/answers", "w") as f:
            f.write("\n".join(todo[1:]))
        texts = {"200": b'{"ok": true, "session_id": "x"}', "full": b'{"ok": false, "error": "disk full"}',
                 "page": b"<!DOCTYPE html><title>Log in</title>",
                 "400": b"x" * 70000}
        text = texts.get(status, b"no \x1b[31mluck")
        status = "200" if status in ("full", "page") else status
        self.send_response(int(status))
        for seconds in after:
            self.send_header("Retry-After", seconds)
        if status == "302":
            self.send_header("Location", "/elsewhere?key=geheim")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_PUT = take

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(where + "/port.tmp", "w") as f:
    f.write(str(server.server_address[1]))
os.rename(where + "/port.tmp", where + "/port")
server.serve_forever()
