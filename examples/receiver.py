# Receives webhook events of Leadtap and polls on each: docs/instant-delivery.md, "Your own receiver".
import asyncio, base64, hmac, http.client, http.server, json, os, pathlib, re, sys, threading, time
import urllib.error, urllib.request

BASE_URL = 'https://leads.example.com'
MY_URL = 'https://hooks.example.com/leadtap'
POSITION = pathlib.Path('next-url.txt')
NEW_POSITION = pathlib.Path('next-url.new')
PAUSES_S = [1, 2, 5, 10]
LOCK = threading.Lock()
FAILED = threading.Event()


def call(url, body=None):
    headers = {'Authorization': f'Bearer {os.environ["LEADTAP_TOKEN"]}', 'Content-Type': 'application/json'}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=30) as response:
        return json.load(response), response.headers['Link']


def handle(lead):
    print(lead['createdAt'], lead['fullName'], lead['phone1'] or lead['email'] or '', flush=True)


def save(next_url):
    NEW_POSITION.write_text(next_url)
    NEW_POSITION.replace(POSITION)


def poll():
    leads = range(100)
    while len(leads) == 100:
        first = f'{BASE_URL}/automation/new-leads?since={HOOK["since"]}'
        leads, link = call(POSITION.read_text() if POSITION.exists() else first)
        next_url = re.search(r'<([^<>]+)>; rel="next"', link)[1]
        for lead in leads:
            result = handle(lead)
            if asyncio.iscoroutine(result):
                asyncio.run(result)
            save(f'{BASE_URL}/automation/new-leads?since={lead["createdAt"]}')
        save(next_url)


def try_to_poll():
    with LOCK:
        try:
            poll()
            FAILED.clear()
        except Exception as error:
            print(repr(error), file=sys.stderr, flush=True)
            FAILED.set()
        return not FAILED.is_set()


def is_genuine(headers, body):
    signed = f'{headers["webhook-id"]}.{headers["webhook-timestamp"]}.'.encode() + body
    own = b'v1,' + base64.b64encode(hmac.digest(KEY, signed, 'sha256'))
    is_signed = any(hmac.compare_digest(own, found.encode()) for found in headers.get('webhook-signature', '').split())
    return is_signed and abs(time.time() - int(headers['webhook-timestamp'])) < 300


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers.get('Content-Length', 0)), 10_000))
        status = 401
        if is_genuine(self.headers, body):
            status = 204 if try_to_poll() else 500
        self.send_response(status)
        self.end_headers()


def subscribe():
    global HOOK, KEY
    HOOK, _ = call(f'{BASE_URL}/automation/hooks', json.dumps({'url': MY_URL}).encode())
    KEY = base64.b64decode(HOOK['secret'].removeprefix('whsec_'))


pause_s = 1
while True:
    try:
        subscribe()
        break
    except (OSError, http.client.HTTPException, TypeError, ValueError) as error:
        # No retry helps when the token or an address is wrong.
        if isinstance(error, urllib.error.HTTPError) and error.code < 500 and error.code not in (408, 429):
            sys.exit(f'{error.code} {error.read().decode()}')
        print(error, file=sys.stderr, flush=True)
        time.sleep(pause_s)
        pause_s = min(60, 2 * pause_s)
server = http.server.ThreadingHTTPServer(('127.0.0.1', 8080), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
# After a failure it tries again by itself, so that no lead waits for the next event.
try_to_poll()
failures = 0
while True:
    FAILED.wait()
    time.sleep(PAUSES_S[min(failures, 3)])
    failures = 0 if try_to_poll() else failures + 1
