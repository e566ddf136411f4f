"""A real ClickHouse engine behind its HTTP interface, as far as the collector uses that.

ClickHouse's server is not on PyPI; its engine is, as a library (chdb). This puts the library behind HTTP:
statements in the body, or in `query` with rows in the body, values of placeholders in `param_NAME`, settings as other
parameters. The engine unescapes the values as the server does. Each connection has a session of its own, so that
statements of several run at the same time. No users, no replication: what those do is not tested here.

    python shim.py FOLDER [PORT]
"""

import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

import chdb

SERVER_SETTINGS = {"wait_end_of_query"}
PARAM = "param_"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two writes: the second would wait for the client's delayed acknowledgement, 40 ms.
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.session = self.server.open()

    def finish(self):
        self.server.close(self.session)
        super().finish()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        statement = given.pop("query", "")
        params = {name[len(PARAM) :]: value for name, value in given.items() if name.startswith(PARAM)}
        settings = {name: value for name, value in given.items() if not name.startswith(PARAM)}
        query = f"{statement}\n{body.decode()}" if statement else body.decode()
        try:
            answer, status = self.session.run(query, settings, params), 200
        except Exception as error:
            answer, status = str(error).encode(), 500
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Session:
    """One after the other, as sessions of ClickHouse are."""

    def __init__(self, folder):
        self.connection = chdb.connect(folder)
        self.lock = Lock()
        self.settings = {}

    def run(self, query, settings, params):
        with self.lock:
            for name, value in settings.items():
                if name not in SERVER_SETTINGS and self.settings.get(name) != value:
                    self.connection.query(f"SET {name} = {value}")
                    self.settings[name] = value
            return self.connection.query(query, "JSONCompactEachRow", params).bytes() or b""

    def close(self):
        with self.lock:
            self.connection.close()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder, port):
        super().__init__(("127.0.0.1", port), Handler)
        self.folder = folder
        # The engine ends with the last of them: this one stays.
        self.sessions = {Session(folder)}

    def open(self):
        session = Session(self.folder)
        self.sessions.add(session)
        return session

    def close(self, session):
        # At the end of its connection, or of all.
        if session in self.sessions:
            self.sessions.remove(session)
            session.close()

    def handle_error(self, request, client_address):
        # A collector that is killed takes its connections with it.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def stop(*_):
    raise KeyboardInterrupt


signal.signal(signal.SIGTERM, stop)
server = Server(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    for session in list(server.sessions):
        server.close(session)
