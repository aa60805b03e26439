"""Programs to be started as children over stdio that do whatever hurts; each continues ``mcp_servers.CHILD``."""

from __future__ import annotations

_SERVES = """
import itertools, subprocess
tools = [{"name": "sosoapi_research_conversations_get"}, {"name": "sosoapi_research_sentiment_status"}]
listed = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools}
token = os.environ.get("SOSOAPI_TOKEN", "")
escapes = "\\x1b[2J\\x1b]0;owned\\x07 verdict: conforms\\u202e\\x9b31m</script><script>alert(1)</script>"
def flood(stream, piece):
    while True:
        stream.write(piece)
        stream.flush()
def on_other(message):
    if message.get("method") == "tools/list":
        say(result(message, listed))
    elif "id" in message:
        say(result(message, {"resultType": "complete"}))
def refuse(message, **more):
    say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "no"}, **more})
def on_call(message):
    {body}
{before}
serve(on_call, on_other)
{after}
"""


def _program(on_call: str = "refuse(message)", before: str = "", after: str = "") -> str:
    body = "\n    ".join(on_call.strip().splitlines())
    return _SERVES.replace("{body}", body).replace("{before}", before).replace("{after}", after)


_IGNORES = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
_GRANDCHILD = "[sys.executable, '-c', 'import time; time.sleep(20)']"

HOSTILE_CHILDREN: dict[str, str] = {
    "hangs-at-once": "time.sleep(60)",
    "exits-at-once": "sys.exit(3)",
    "prints-rubbish-at-once": "print('\\x1b[2J ready', flush=True); sys.stdin.read()",
    "floods-stdout-at-once": "while True: os.write(1, b'a' * 65536)",
    "floods-lines-at-once": "while True: os.write(1, b'a\\n' * 32768)",
    "floods-stderr-at-once": "while True: os.write(2, b'a' * 65536)",
    "prints-rubbish-before-answers": _program("print(escapes, '\\0\\0'); refuse(message)"),
    "exits-in-mid-call": _program("os._exit(7)"),
    "dies-by-a-signal-in-mid-call": _program("os.kill(os.getpid(), signal.SIGKILL)"),
    "never-answers": _program("pass"),
    "hangs-in-mid-call": _program("time.sleep(60)"),
    "half-an-answer": _program("sys.stdout.write('{\"jsonrpc\":'); sys.stdout.flush(); os._exit(0)"),
    "floods-stdout-without-a-line-end": _program("flood(sys.stdout, 'a' * 65536)"),
    "floods-stdout-with-numbers": _program("flood(sys.stdout, '1\\n' * 32768)"),
    "floods-stderr": _program("flood(sys.stderr, escapes * 1000)"),
    "floods-stderr-and-answers": _program("sys.stderr.write(escapes * 50000); refuse(message)"),
    "answers-twice": _program("refuse(message); refuse(message)"),
    "answers-with-another-id": _program("refuse({'id': 4711})"),
    "answers-with-an-id-of-another-type": _program("refuse({'id': str(message['id'])})"),
    "answers-without-an-id": _program("refuse({'id': None})"),
    "answers-in-a-batch": _program("say([result(message)])"),
    "answers-before-it-is-asked": _program("[refuse({'id': n}) for n in range(50)]; refuse(message)"),
    "ignores-signals-and-end": _program(before=_IGNORES, after="time.sleep(60)"),
    "ignores-signals-and-hangs": _program("time.sleep(60)", before=_IGNORES),
    "grandchild-holds-the-pipes": _program(before=f"subprocess.Popen({_GRANDCHILD})"),
    "grandchild-outlives-a-call": _program(f"subprocess.Popen({_GRANDCHILD}); os._exit(0)"),
    "stops-reading": _program(before="import threading; threading.Timer(0.2, lambda: os.close(0)).start()"),
    "closes-stdin-in-mid-call": _program("os.close(0); time.sleep(60)"),
    "closes-stdout-in-mid-call": _program("os.close(1); time.sleep(60)"),
    "writes-nuls": _program("os.write(1, b'\\0' * 100000 + b'\\n'); refuse(message)"),
    "nuls-in-an-answer": _program("refuse(message, **{'\\0': '\\0'})"),
    "invalid-utf-8": _program(
        "os.write(1, b'{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"\\xff\":1}}\\n'); refuse(message)"
    ),
    "deep-answer": _program(
        "refuse(message); say('{\"jsonrpc\":\"2.0\",\"result\":' + '[' * 100000 + ']' * 100000 + '}')"
    ),
    "deep-line": _program("say('[' * 100000); refuse(message)"),
    "integer-of-10000-digits": _program("say('{\"jsonrpc\":\"2.0\",\"id\":' + '9' * 10000 + ',\"result\":{}}')"),
    "endless-cursor": _program(before="ids = itertools.count()\nlisted = type('L', (dict,), {})(listed)\n"
        "def on_other(message): say(result(message, {**listed, 'nextCursor': str(next(ids))}))"),
    "requests-by-the-thousand": _program(
        "[say({'jsonrpc': '2.0', 'id': n, 'method': 'ping'}) for n in range(5000)]; refuse(message)"
    ),
    "notifications-by-the-thousand": _program(
        "[say({'jsonrpc': '2.0', 'method': 'notifications/x'}) for n in range(5000)]; refuse(message)"
    ),
    "floods-notifications": _program("flood(sys.stdout, '{\"method\":1}\\n' * 5000)"),
    "floods-requests": _program("flood(sys.stdout, '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\\n' * 5000)"),
    "many-members": _program("say('{' + '\"a\":{},' * 30000 + '\"jsonrpc\":\"2.0\"}'); refuse(message)"),
    "prints-the-token": _program("print(token); sys.stderr.write(token); refuse(message, **{token: [token]})"),
    "prints-the-token-and-exits": _program("print(token, flush=True); sys.exit(token)"),
    "prints-the-token-at-once": "t = os.environ.get('SOSOAPI_TOKEN'); print(t, flush=True); sys.exit(t)",
    "escape-codes": _program("refuse(message, **{escapes: escapes})"),
    "lone-surrogates": _program("refuse(message, **{'\\ud800': '\\udfff'})"),
    "slower-and-slower": _program(
        "on_call.n = getattr(on_call, 'n', 0) + 1; time.sleep(on_call.n / 4); refuse(message)"
    ),
}  # fmt: skip
"""Programs by name."""
