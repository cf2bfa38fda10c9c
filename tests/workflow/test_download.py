"""A dataset from the web: the plan knows its paths without a request, and one job brings it."""

import pytest

from tests.data.conftest import Kit
from tests.data.server import certificate, serving, sha256


@pytest.fixture
def web_project(fake_project, tmp_path, monkeypatch):
    """The fake project, whose images are a server's; (project, server, path of what is staged)."""
    monkeypatch.setenv("AUGMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate(tmp_path)))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    photos = [(f"{n:02d}.jpg", Kit.encode(Kit.draw(240 + n, 230, seed=n))) for n in range(20)]
    made = Kit.pack(tmp_path / "set.tar", photos).read_bytes()
    with serving(made, tmp_path / "certificate.pem") as server:
        stanza = {"title": "Of the web", "kind": "tar", "medium": "image", "source": server.url}
        facts = {"size": len(made), "sha256": sha256(made), "feeds": ["image-rgb"]}
        fake_project.edit("datasets.yaml", lambda content: content.update({"web-set": stanza | facts}))
        fake_project.edit("config.yaml", lambda content: content.update(images="web-set"))
        yield fake_project, server, f"results/datasets/web-set.{facts['sha256'][:10]}/staged.json"


def test_a_plan_asks_nobody_and_one_job_brings_it(web_project):
    """Broken at 60 %, the job continues; what is staged needs nothing any more, wherever the server is."""
    project, server, staged = web_project
    planned = project.run("snakemake", staged, "-n")
    assert "stage_dataset" in planned.stdout + planned.stderr
    assert server.asked == []
    cut = len(server.content) * 6 // 10
    server.breaks = [cut]

    project.run("snakemake", staged)

    tar = (project.root / staged).with_name("dataset.tar")
    assert sha256(tar.read_bytes()) == sha256(server.content)
    assert server.ranges_asked() == [None, f"bytes={cut}-"]
    log = next((project.results / "logs" / "stage_dataset").iterdir()).read_text()
    assert "the connection broke off after" in log
    assert "continuing after" in log
    server.statuses = [(404, {})] * 9
    again = project.run("snakemake", staged)
    assert "Nothing to be done" in again.stdout + again.stderr
    assert len(server.asked) == 2


def test_another_file_than_declared_stops_the_job_with_both_digests(web_project):
    """Of the same size; the log of the job has the remedy."""
    project, server, staged = web_project
    declared, server.content = sha256(server.content), server.content[:-1] + b"\1"

    failed = project.run("snakemake", staged, check=False)

    assert failed.returncode != 0
    log = next((project.results / "logs" / "stage_dataset").iterdir()).read_text()
    assert f"has the sha256 {sha256(server.content)}, but {declared} was declared" in log
    assert "Traceback" not in log
    assert not (project.root / staged).exists()
