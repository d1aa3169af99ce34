# Everything a trial can do to outlive its end. $1 marks its processes (part of their command lines).
# A daemon forked twice into a session of its own, deaf to signals, holding standard output.
"$PYTHON" - "$1" <<'PY'
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(300)
    os._exit(0)
os.wait()
PY
# A child in a session of its own, and one without any environment to know it by.
(setsid sleep "301.$1" &)
(env -i setsid /bin/sleep "302.$1" &)
# An orphan that ends by itself, and one that goes on making orphans.
(setsid bash -c "sleep 0.05; : $1" &)
setsid bash -c "while :; do (sleep 303.$1 &) ; sleep 0.2; done" >/dev/null 2>&1 &
echo done
