"""A running service whose key file is moved away."""

from pathlib import Path

from serving.attacks.clients import Target, make_keys
from serving.service import Running, until


def test_service_without_its_key_file_refuses_all_keys_and_recovers(songs: Path, tmp_path: Path) -> None:
    file, away = tmp_path / "keys", tmp_path / "away"
    keys = make_keys(file)
    with Running(songs / "run", "--workers", 1, "--keys", file, FANS_KEY_FILE_GRACE_S=0) as running:
        target, health = Target(running, keys), lambda: running.http.get("/health/ready")
        assert target.ask().status_code == 200
        file.rename(away)
        assert until(lambda: health().status_code == 503)
        assert "key file" in health().json()["detail"] and str(file) not in health().text
        refused = target.ask()
        assert refused.status_code == 503 and refused.json()["type"] == "urn:fansrec:keys-unreadable"
        assert running.http.get("/health/live").status_code == 200
        assert until(lambda: any("every key is refused" in line for line in running.log))
        away.rename(file)
        assert until(lambda: health().status_code == 200)
        assert target.ask().status_code == 200
