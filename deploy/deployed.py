"""deployed.py ROOT ORDERS.csv DEPLOY RENDERED.yaml...: runs the containers and units in the files of deploy/, as root, without a container engine.

ROOT is an unpacked image. Each container of docker-compose.yml, of kubernetes/*.yaml, of the rendered chart and each unit of systemd runs in
namespaces of its own with the file's command, environment, user, read-only root and mounts. Its health checks are those of the file. What
stands in for the cluster: a folder /store for the object store and its catalog where the file has no volume of its own.
"""

import dataclasses
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import yaml

REFUSED, OK = (401, 403), (200,)
WAIT = 120  # seconds for a service to come up on a busy machine


@dataclasses.dataclass
class Container:
    """A container as a file describes it."""

    name: str
    argv: list
    env: dict
    user: str
    mounts: dict = dataclasses.field(default_factory=dict)  # path: folder to bind, or None for a tmpfs
    health: list = dataclasses.field(default_factory=list)  # commands
    probes: list = dataclasses.field(default_factory=list)  # paths of HTTP
    once: bool = False


def in_container(c, argv, mounts=None):
    """The command line that runs argv in a container: a private mount namespace, a read-only root, then the user without privileges."""
    script = ["set -e", f"mount --bind {ROOT} {ROOT}", f"mount -o remount,bind,ro {ROOT}", f"mount -t proc proc {ROOT}/proc"]
    for device in ("null", "urandom"):
        script.append(f"mount --bind /dev/{device} {ROOT}/dev/{device}")
    for path, source in (c.mounts if mounts is None else mounts).items():
        at = shlex.quote(ROOT + path)
        script.append(f"mount -t tmpfs -o mode=1777 tmpfs {at}" if source is None else f"mount --bind {shlex.quote(source)} {at}")
    env = " ".join(shlex.quote(f"{k}={v}") for k, v in {"PATH": "/usr/local/bin:/usr/bin", "HOME": "/var/lib/shardcat", **c.env}.items())
    script.append(f"exec setpriv --no-new-privs env -i {env} {shutil.which('chroot')} --userspec={c.user} --groups= {ROOT} {shlex.join(argv)}")
    return ["unshare", "-m", "--propagation", "private", "bash", "-c", "\n".join(script)]


class Network:
    """A network namespace with nothing but loopback."""

    def __enter__(self):
        up = "import fcntl,socket,struct,time; s=socket.socket(); fcntl.ioctl(s,0x8914,struct.pack('16sh',b'lo',1)); print('up',flush=True); time.sleep(3600)"
        self.process = subprocess.Popen(["unshare", "-n", sys.executable, "-c", up], stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"up\n"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def enter(self, argv):
        return ["nsenter", f"--net=/proc/{self.process.pid}/ns/net", *argv]

    def get(self, path, token=None):
        """The status of a GET of the service."""
        ask = (
            "import sys,urllib.request as u,urllib.error as e\n"
            "r=u.Request('http://127.0.0.1:8099'+sys.argv[1])\n"
            "if sys.argv[2]: r.add_header('Authorization','Bearer '+sys.argv[2])\n"
            "try: print(u.urlopen(r,timeout=60).status)\n"
            "except e.HTTPError as err: print(err.code)\n"
            "except OSError: print(0)\n"
        )
        return int(subprocess.run(self.enter([sys.executable, "-c", ask, path, token or ""]), capture_output=True, check=True, env={}).stdout)


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what))


def environment(path):
    lines = [line for line in pathlib.Path(path).read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def documents(path):
    return [d for d in yaml.safe_load_all(pathlib.Path(path).read_text()) if d]


def compose(path):
    file = yaml.safe_load(path.read_text())
    for name, s in file["services"].items():
        check(s["read_only"] and s["cap_drop"] == ["ALL"] and "no-new-privileges:true" in s["security_opt"], path, name, "is not confined")
        mounts = {t.split(":")[0]: None for t in s["tmpfs"]}
        for volume in s["volumes"]:
            source, at = volume.split(":")
            check(source in file["volumes"], path, "has no volume", source)
            mounts[at] = folder(s["user"])
        test = s["healthcheck"]["test"]
        check(test[0] == "CMD", "health check", test, "needs a shell")
        yield Container(f"compose {name}", ["shardcat", *s["command"]], environment(path.parent / "env.example"), s["user"], mounts, [test[1:]])


def pods(path):
    objects = documents(path)
    configs = {o["metadata"]["name"]: o["data"] for o in objects if o["kind"] == "ConfigMap"}
    for o in objects:
        if o["kind"] == "Deployment":
            pod = o["spec"]["template"]["spec"]
        elif o["kind"] == "CronJob":
            pod = o["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        else:
            continue
        user = f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"
        volumes = {}
        for v in pod["volumes"]:
            volumes[v["name"]] = None
            if "configMap" in v:
                at = folder("0:0")
                for name, text in configs[v["configMap"]["name"]].items():
                    pathlib.Path(at, name).write_text(text)
                volumes[v["name"]] = at
        for c in pod["containers"]:
            check(c["securityContext"]["readOnlyRootFilesystem"], path, "writes to its root")
            check([f["secretRef"]["name"] for f in c["envFrom"]] == ["shardcat"], path, c["envFrom"])
            env = {**TOKENS, "SHARDCAT_CATALOG": "sqlite:/store/catalog.db", "SHARDCAT_WAREHOUSE": "/store/warehouse"}
            mounts = {m["mountPath"]: volumes[m["name"]] for m in c["volumeMounts"]}
            ports = {p["name"]: p["containerPort"] for p in c.get("ports", [])}
            probes = [c[kind]["httpGet"] for kind in ("livenessProbe", "readinessProbe") if kind in c]
            check(all(ports[p["port"]] == 8099 for p in probes), path, probes)
            yield Container(f"{path.name} {o['kind']}", ["/usr/bin/shardcat", *c["args"]], env, user, {**mounts, "/store": folder(user)}, [],
                            [p["path"] for p in probes], o["kind"] == "CronJob")


def unit(path):
    settings = {}
    for line in path.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            settings[key] = value
    check(settings["ProtectSystem"] == "strict" and settings["PrivateTmp"] == "yes" and settings["DynamicUser"] == "yes", path)
    user = "61184:61184"  # of those that systemd chooses from
    state = "/var/lib/" + settings["StateDirectory"]
    check(settings["WorkingDirectory"] == state and settings["ConfigurationDirectory"] == "shardcat", path)
    check(settings["EnvironmentFile"] == "/etc/shardcat/env", path)
    config = folder("0:0")
    shutil.copy(path.parent / "config.yaml", config)
    return Container(f"systemd {path.name}", shlex.split(settings["ExecStart"]), environment(path.parent / "env.example"), user,
                     {"/tmp": None, state: folder(user), "/etc/shardcat": config})


def folder(user):
    at = tempfile.mkdtemp(dir=WORK)
    uid, gid = map(int, user.split(":"))
    os.chown(at, uid, gid)
    os.chmod(at, 0o755)
    return at


def run(c):
    """Rows through the container's own program, its service or round, its health checks, and its end."""
    options = ["--config", "/etc/shardcat/config.yaml"] if "/etc/shardcat" in c.mounts else []

    def command(*argv, mounts=None, stdin=None):
        full = in_container(c, ["shardcat", *options, *argv], mounts)
        return subprocess.run(net.enter(full), input=stdin, capture_output=True)

    def want(*argv, stdin=None):
        done = command(*argv, stdin=stdin)
        check(done.returncode == 0, c.name, argv, done.returncode, done.stderr.decode())
        return done.stdout

    with Network() as net:
        check(command("docs", "--man", "/etc/pages").returncode != 0, c.name, "writes to its root")
        want("ingest", "orders", "-", "--format", "csv", "--create", stdin=ORDERS)
        want("ingest", "orders", "-", "--format", "csv", stdin=ORDERS)
        parquet = want("scan", "orders", "--format", "parquet")
        # Parquet from a pipe needs a temporary file: with the mounts of the file it has one, without /tmp it has not.
        want("ingest", "copy", "-", "--format", "parquet", "--create", stdin=parquet)
        without = {at: source for at, source in c.mounts.items() if at != "/tmp"}
        check("/tmp" in c.mounts and command("ingest", "none", "-", "--format", "parquet", "--create", mounts=without, stdin=parquet).returncode != 0,
              c.name, "has no /tmp, or needs none")
        want("compact", "orders", "--mode", "rebuild", "--order", "amount desc")
        want("table", "index", "orders", "add", "text:customer")

        with open(os.path.join(WORK, "log"), "w+b") as log:
            service = subprocess.Popen(net.enter(in_container(c, c.argv)), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

            def said():
                log.seek(0)
                return log.read().decode()

            try:
                if c.once:
                    check(service.wait(WAIT) == 0, c.name, said())
                    return
                deadline = time.monotonic() + WAIT
                while net.get("/readyz") != 200:
                    check(service.poll() is None and time.monotonic() < deadline, c.name, "did not come up:", said())
                    time.sleep(0.1)
                for path in c.probes:
                    check(net.get(path) in OK, c.name, path)
                for health in c.health:
                    done = subprocess.run(net.enter(in_container(c, health)), capture_output=True)
                    check(done.returncode == 0, c.name, health, done.stderr.decode())
                token = c.env["SHARDCAT_READ_TOKEN"]
                check(net.get("/v1/tables", token) in OK, c.name, "refuses its read token")
                check(net.get("/v1/tables", "wrong") in REFUSED, c.name, "accepts another token")
                service.send_signal(signal.SIGTERM)
                check(service.wait(60) == 0, c.name, "ended with", service.returncode, said())
                for health in c.health:
                    check(subprocess.run(net.enter(in_container(c, health)), capture_output=True).returncode == 1, c.name, "is healthy when stopped")
            finally:
                if service.poll() is None:
                    service.kill()
                    service.wait()


ROOT, orders, deploy = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
ORDERS = pathlib.Path(orders).read_bytes()
TOKENS = environment(deploy / "compose/env.example")
TOKENS = {k: v for k, v in TOKENS.items() if k.endswith("_TOKEN")}
with tempfile.TemporaryDirectory() as WORK:
    os.chmod(WORK, 0o755)
    for at in ("proc", "dev", "store", "etc/shardcat", "usr/local/bin"):
        os.makedirs(f"{ROOT}/{at}", exist_ok=True)  # a container engine makes mount points
    for device in ("null", "urandom"):
        pathlib.Path(f"{ROOT}/dev/{device}").touch()
    if not os.path.exists(f"{ROOT}/usr/local/bin/shardcat"):
        os.link(f"{ROOT}/usr/bin/shardcat", f"{ROOT}/usr/local/bin/shardcat")  # where the unit expects it
    found = [*compose(deploy / "compose/docker-compose.yml"), unit(deploy / "systemd/shardcat.service")]
    for path in [*sorted((deploy / "kubernetes").glob("*.yaml")), *map(pathlib.Path, sys.argv[4:])]:
        found += pods(path)
    for c in found:
        start = time.monotonic()
        run(c)
        print(f"ok  {c.name} ({time.monotonic() - start:.1f} s)", flush=True)
    check(len(found) >= 6, [c.name for c in found])
