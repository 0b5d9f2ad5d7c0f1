#!/usr/bin/env bash
# Runs every test on private engines, with progress, and ends with one line: N passed, N failed, N skipped.
# usage: test.sh BIN "PACKAGES WITH RACE" "PACKAGES WITHOUT" [SERVICE]
# With SERVICE, of the packages without only the tests that are named after it (TestRerun… for rerun), that of its README, and
# those of who may do what.
set -uo pipefail
bin=$1
read -ra raced <<<"$2"
read -ra plain <<<"$3"
service=${4:-}
area=()
if [ -n "$service" ]; then
  area=(-run "(?i)^Test(${service}|TheCommandsOfTheREADMEs|EveryOperationHasItsLine|EveryMethodHasItsLine|People|Services)")
  export LAB_TEST_README=$service/README.md
fi
results=${LAB_DIR:-.lab}/test-results
# Stacks that tests start share the programs of the Java engines.
export LAB_DISTRIBUTIONS=${LAB_DISTRIBUTIONS:-$(realpath -m "${LAB_DIR:-.lab}")/distributions}
# Go's cache of results sees no file outside a module: tests that read the pages of docs/design depend on this digest.
LAB_DOCUMENTS=$(cat docs/design/*.md | git hash-object --stdin)
export LAB_DOCUMENTS
rm -rf "$results" && mkdir -p "$results"
status=0
run() {
  local name=$1; shift
  echo "== tests $name"
  "$bin/devstack" engines -- "$bin/gotestsum" --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary output \
    --jsonfile "$results/${name// /-}.json" -- -timeout "${TEST_TIMEOUT:-40m}" "$@" || status=1
}
if command -v "$(go env CC)" >/dev/null; then
  run "with the race detector" -race -parallel 4 "${raced[@]}"
else
  echo "== no C compiler ($(go env CC)): the race detector needs one, so these tests run without it"
  run "without the race detector" "${raced[@]}"
fi
# What black-box tests and tests of documents depend on beyond what Go's cache compares (the test binary, its flags, the files
# of its module): the programs that they start, the files of other modules with their names, the version that upgrades begin at,
# the engines of this machine, and the switches that platforms are started with.
inputs() {
  {
    go list -deps -export -f '{{.BuildID}}' ./gateway/cmd/gateway ./services/*/cmd/* ./scripts/devstack ./scripts/agent
    # A name may belong to a file that is deleted and not committed: git hash-object would stop there.
    git ls-files -co --exclude-standard -- ':!*.go' ':!docs/pictures' | while IFS= read -r file; do
      if [ -L "$file" ]; then echo "$file $(readlink "$file")"; elif [ -f "$file" ]; then sha256sum "$file"; fi
    done
    git describe --tags --abbrev=0 HEAD^ 2>/dev/null || git log -1 --format=%H -- VERSION
    for program in mariadbd mysqld redis-server java node npm soffice helm; do
      path=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v "$program") && stat -Lc '%n %s %Y' "$path"
    done
    env | grep '^LAB_' || true
  } | sort | sha256sum | cut -c1-16
}
# No test has the name that is skipped: it makes a verdict count only while these inputs are the same.
unraced() {
  local name=$1; shift
  [ $# = 0 ] || run "$name" -p "$parallel" -skip "^inputs-$inputs\$" ${area[@]+"${area[@]}"} "$@"
}
if [ ${#plain[@]} -gt 0 ]; then
  inputs=$(inputs) tools=() blackbox=()
  for package in "${plain[@]}"; do case $package in */scripts/e2e*) blackbox+=("$package") ;; *) tools+=("$package") ;; esac; done
  parallel=2 unraced "of tools" ${tools[@]+"${tools[@]}"}
  # Two packages at a time: they wait for deadlines and engines most of the time, and each platform has a folder and ports of its own.
  # The long forms run alone: clusters and ten minutes of faults on one disk only show how long a write may take.
  blackbox_at_once=2
  if [ "${LAB_LONG_TESTS:-}" = 1 ]; then blackbox_at_once=1; fi
  parallel=$blackbox_at_once unraced "black box" ${blackbox[@]+"${blackbox[@]}"}
fi
# A line per finished test; subtests count as tests. A package that does not build or dies counts as a failure.
count() { cat "$results"/*.json | grep -c "\"Action\":\"$1\".*\"Test\":" || true; }
passed=$(count pass) failed=$(count fail) skipped=$(count skip)
broken=$(cat "$results"/*.json | grep '"Action":"fail"' | grep -vc '"Test":' || true)
if [ "$failed" = 0 ] && [ "$broken" != 0 ]; then failed=$broken; fi
if [ "$status" != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
"$(dirname "$0")/test-times.sh" "$results" 20
echo "$passed passed, $failed failed, $skipped skipped"
exit $status
