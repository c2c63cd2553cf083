#!/bin/sh
# Install the package with its service from the folder that this script's folder stands in.
#   docker/install.sh FOLDER
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
python3 -m venv "$1"
"$1/bin/python" -m pip install --quiet "$source[serve]"
mkdir "$1/docker"
cp "$source/docker/start.sh" "$source/docker/check_health.sh" "$1/docker/"
