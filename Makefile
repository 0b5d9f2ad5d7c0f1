# Everything that people and machines do here. `make help` lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN   := $(CURDIR)/.bin
CLUSTER := $(BIN)/cluster
BUF   := $(CURDIR)/scripts/tools/node_modules/.bin/buf
LAB_DIR ?= $(CURDIR)/.lab
export LAB_DIR
# The workspace is the list of modules: nothing below names one.
MODULES = $(shell go list -m -f '{{.Dir}}')
SERVICES = gateway $(notdir $(patsubst %/go.mod,%,$(wildcard services/*/go.mod)))
# The main package of each service.
COMMANDS = ./gateway/cmd/gateway $(foreach s,$(filter-out gateway,$(SERVICES)),./services/$(s)/cmd/$(s))

.PHONY: help
help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---- the platform on this machine -------------------------------------------------------------------------

.PHONY: devstack platform run stack-up stack-down stack-reset examples film seed seed-volume
devstack:
	@mkdir -p $(BIN)
	@[ -x $(BIN)/devstack ] || echo "building devstack (the first time on a machine this takes a few minutes)"
	@go build -ldflags='-s -w' -o $(BIN)/devstack ./scripts/devstack

# A first start waits for the compiler and for the network at once: one go build of everything, while fetch, which compiles
# in seconds, installs the engines. devstack then finds both done. A failed build waits for fetch: apt must not be cut off.
platform:
	@mkdir -p $(BIN)
	@echo "building the platform (the first time on a machine this takes three to six minutes on two cores; engines are fetched meanwhile)"
	@go build -ldflags='-s -w' -o $(BIN)/fetch ./scripts/devstack/fetch $(quiet)
	@$(BIN)/fetch & fetched=$$!; \
	  go build -ldflags='-s -w' -o $(BIN)/ ./scripts/devstack $(COMMANDS) $(quiet) || { wait $$fetched; exit 1; }; \
	  wait $$fetched

run: platform ## Start everything here with demo data; Ctrl-C stops it. TRACES=1: with a page that shows traces. DEMO=day or off: whether the laboratory works
	@exec env $(if $(TRACES),LAB_TRACES=on) $(if $(DEMO),LAB_DEMO=$(DEMO)) $(BIN)/devstack run

stack-up: platform ## The same in the background
	@$(BIN)/devstack up

stack-down: devstack ## Stop what stack-up started
	@$(BIN)/devstack down

stack-reset: devstack ## Stop and delete all data of the stack
	@$(BIN)/devstack reset

examples: devstack ## Requests to copy and paste, for the stack that runs
	@$(BIN)/devstack examples

film: ## Pictures of a working day on the stack that runs, in another folder: make film FILM=/tmp/film
	@LAB_FILM="$(or $(FILM),/tmp/film)" go test -count=1 ./scripts/e2e/film

seed: devstack ## Load a fixture: make seed FIXTURE=path.json
	@$(BIN)/devstack seed "$(FIXTURE)"

seed-volume: ## Generate volume: make seed-volume USERS=200000 LABS=20
	@mkdir -p $(BIN) && go build -o $(BIN)/bench ./scripts/bench
	@$(BIN)/bench seed-volume --users $(or $(USERS),200000) --labs $(or $(LABS),20) --seed-number $(or $(SEED_NUMBER),1)

# ---- tools ------------------------------------------------------------------------------------------------

# The linter takes minutes to build, the generators seconds: each is built by what runs it.
TOOLS   = GOWORK=off GOBIN=$(BIN) go -C scripts/tools install -ldflags='-s -w'
PLUGINS = github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway \
          github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2 \
          google.golang.org/grpc/cmd/protoc-gen-go-grpc google.golang.org/protobuf/cmd/protoc-gen-go
quiet   = 2> >(grep -v '^go: downloading' >&2)

GENERATORS := $(BIN)/.generators
$(GENERATORS): scripts/tools/go.mod scripts/tools/go.sum $(wildcard scripts/tools/*/*.go)
	@echo "building the generators"
	@mkdir -p $(BIN)
	@$(TOOLS) ./openapi ./phrases ./protodeps ./wrapcomments $(PLUGINS) $(quiet)
	@touch $@

$(BIN)/golangci-lint: scripts/tools/go.mod
	@echo "building the linter (the first time on a machine this takes a few minutes)"
	@mkdir -p $(BIN)
	@$(TOOLS) github.com/golangci/golangci-lint/v2/cmd/golangci-lint $(quiet)
	@touch $@

# Without a lock file: package.json pins the one exact version, and npm leaves out other platforms' binaries.
$(BUF): scripts/tools/package.json
	@command -v npm >/dev/null || { echo "buf comes from npm: install Node.js with npm (apt-get install npm)"; exit 1; }
	@echo "installing buf"
	@npm --prefix scripts/tools install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

$(BIN)/gotestsum: scripts/tools/go.mod
	@mkdir -p $(BIN)
	@$(TOOLS) gotest.tools/gotestsum $(quiet)
	@touch $@

.PHONY: tools
tools: $(GENERATORS) $(BUF) $(BIN)/golangci-lint $(BIN)/gotestsum ## Build and install every tool

# ---- contracts --------------------------------------------------------------------------------------------

.PHONY: generate lint-proto breaking protos
generate: $(GENERATORS) $(BUF) ## Generate Go, the API document and the table of routes from the contracts
	@$(BIN)/protodeps .proto-deps
	@$(BUF) format -w proto
	@rm -rf proto/gen && $(BUF) generate
	@$(BUF) build proto -o $(BIN)/contracts.binpb
	@$(BIN)/openapi $(BIN)/lab.swagger.json $(BIN)/contracts.binpb proto/lab VERSION proto/openapi/lab.openapi.json
	@UPDATE_GOLDEN=1 go test -count=1 -run TestTheTableOfRoutes ./gateway/internal/areas >/dev/null

lint-proto: $(GENERATORS) $(BUF) ## Lint the contracts
	@$(BIN)/protodeps .proto-deps >/dev/null
	@$(BUF) lint proto
	@$(BUF) format -d --exit-code proto

breaking: $(GENERATORS) $(BUF) ## Compare the contracts with the main branch
	@scripts/breaking.sh $(BUF) $(BIN)/protodeps

# Contracts and imports from one root, as protoc, buf and other generators want them; the same files make the same archive.
PROTOS := $(BIN)/labplatform-protos.tar.gz
protos: $(GENERATORS) ## Pack the contracts with all that they import, for clients by gRPC: .bin/labplatform-protos.tar.gz
	@$(BIN)/protodeps .proto-deps >/dev/null
	@tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --exclude='*.yaml' -cf - -C proto lab -C ../.proto-deps google protoc-gen-openapiv2 | gzip -n >$(PROTOS)
	@echo $(PROTOS)

# ---- the desktop client of external editing -----------------------------------------------------------------

# Programs without further files, for the computers of the authors.
.PHONY: agent
agent: ## Build the desktop client for Windows, macOS and Linux: .bin/agent/
	@mkdir -p $(BIN)/agent
	@for target in windows/amd64/agent.exe windows/arm64/agent-arm64.exe darwin/arm64/agent-macos darwin/amd64/agent-macos-intel linux/amd64/agent-linux linux/arm64/agent-linux-arm64; do \
	  IFS=/ read -r system machine name <<<"$$target"; echo "building $$name"; \
	  CGO_ENABLED=0 GOOS=$$system GOARCH=$$machine go build -trimpath -ldflags='-s -w' -o $(BIN)/agent/$$name ./scripts/agent || exit 1; done

# ---- checks -----------------------------------------------------------------------------------------------

.PHONY: check phrases fmt formatted lint generated tidy tidy-check alone
check: phrases formatted documents lint-proto generated document breaking tidy-check alone lint charts ## Everything but the tests

.PHONY: documents
documents: ## Compare the documents with the services: paths, settings, tables, alerts, links
	@echo "check: documents"
	@out=$$(go test -count=1 ./services 2>&1) || { echo "$$out"; exit 1; }

# Commits after this one have subjects of the form that CONTRIBUTING.md asks for.
SUBJECTS_SINCE = 06f871afddc48eeaebc00d8f3cdada0eab607237
phrases: $(GENERATORS) ## Compare texts with the words and phrases to avoid (docs/language.md), and commit subjects with their form
	@echo "check: language"
	@$(BIN)/phrases -since $(SUBJECTS_SINCE)

GO_FILES = git ls-files --cached --others --exclude-standard --deduplicate '*.go' ':!proto/gen'
# As the linter's rule of lines in .golangci.yml: not in tests and tables, and not where a long text stays in one piece.
LONG_LINES = LC_ALL=C.UTF-8 git grep --untracked -nE '^.{121,}' -- '*.go' ':!proto/gen' ':!*_test.go' ':!*/relevance/*' ':!*/volume/*' \
           ':!*/stack/summary.go' ':!*/stack/examples.go' | grep -vE '("[^"]{50,}|`[^`]{50,})'
LONG     = $(LONG_LINES) | cut -d: -f1 | sort -u
fmt: $(GENERATORS) ## Format Go: gofmt, comments wrapped at 120 columns. Longer lines of code are listed, to be broken by hand
	@$(GO_FILES) | xargs gofmt -w
	@$(LONG) | xargs -r $(BIN)/wrapcomments
	@$(LONG_LINES) || true

formatted:
	@echo "check: gofmt, and the tools' own tests"
	@out=$$(GOWORK=off go -C scripts/tools test ./... 2>&1) || { echo "$$out"; exit 1; }
	@out=$$(git grep --untracked -nE '^(<{7}|>{7}) '); test -z "$$out" || { echo "$$out"; echo "markers of a conflict: resolve it"; exit 1; }
	@out=$$($(GO_FILES) | xargs gofmt -l; $(LONG_LINES)); test -z "$$out" || { echo "$$out"; echo "not formatted, or above 120 columns: run make fmt, and break the lines of code that it lists"; exit 1; }

GENERATED = proto gateway/internal/areas/testdata
generated: generate
	@echo "check: generated code is up to date"
	@out=$$(git status --porcelain -- $(GENERATED)); test -z "$$out" || { git diff --stat -- $(GENERATED); echo "$$out"; \
	  echo "commit what make generate made of the contracts (make check compares with the last commit)"; exit 1; }

# Node's own file of what it installed: the black-box tests of the document look at the same one.
DOCUMENT_TOOLS := scripts/tools/apidoc/node_modules/.installed
$(DOCUMENT_TOOLS): scripts/tools/apidoc/package-lock.json
	@command -v npm >/dev/null || { echo "redocly and Spectral come from npm: install Node.js with npm (apt-get install npm)"; exit 1; }
	@echo "installing redocly and Spectral"
	@npm --prefix scripts/tools/apidoc ci --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: document
document: $(DOCUMENT_TOOLS) ## Judge the API document with redocly and Spectral
	@echo "check: the API document"
	@cd scripts/tools/apidoc && out=$$(REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true node_modules/.bin/redocly lint ../../../proto/openapi/lab.openapi.json 2>&1) && \
	  ! grep -q 'You have' <<<"$$out" && out=$$(node_modules/.bin/spectral lint --fail-severity=hint ../../../proto/openapi/lab.openapi.json 2>&1) || \
	  { echo "$$out"; exit 1; }

alone:
	@for d in $(MODULES); do echo "check: GOWORK=off go vet $${d#$(CURDIR)/}"; GOWORK=off go -C $$d vet ./... || exit 1; done

lint: $(BIN)/golangci-lint suppressions named-columns ## Run the linters over every module
	@echo "check: golangci-lint"
	@$(BIN)/golangci-lint run --allow-parallel-runners $(addsuffix /...,$(MODULES))

# A suppression of a linter that does not run suggests a rule that is not checked.
.PHONY: suppressions
suppressions:
	@runs=$$(sed -n '/^  enable:/,/^  settings:/s/^    - \([a-z]*\).*/\1/p' .golangci.yml); \
	 out=$$(git grep -noE 'nolint:[a-z,]+' -- '*.go' | tr ',' '\n' | sed 's/.*nolint://' | sort -u | grep -vxF "$$runs"); \
	 test -z "$$out" || { echo "suppressed, and not enabled in .golangci.yml:"; echo "$$out"; exit 1; }

# An INSERT without column names breaks when a column is added, in tests and benchmarks that no one runs for that change.
.PHONY: named-columns
named-columns:
	@out=$$(git grep -nE 'INSERT (IGNORE )?INTO `?[A-Za-z_]+`? (SELECT|VALUES)' -- 'services/*.go' 'scripts/*.go'); \
	 test -z "$$out" || { echo "name the columns of each INSERT:"; echo "$$out"; exit 1; }

# Modules outside the workspace: what they require must not choose the versions of the product.
APART = scripts/charts scripts/images scripts/mongotools scripts/tools
# These fetch all of Kubernetes: not in every check.
CLUSTER_MODULES = scripts/cluster scripts/cluster/node
tidy: ## Tidy every module to a fixpoint
	@for d in $(MODULES) $(APART) $(CLUSTER_MODULES); do GOWORK=off go -C $$d mod tidy || exit 1; done
	@go work sync
	@for d in $(MODULES); do GOWORK=off go -C $$d mod tidy || exit 1; done
	@rm -f go.work.sum && go work sync && go list -m all >/dev/null

tidy-check:
	@echo "check: modules are tidy"
	@for d in $(MODULES) $(APART); do GOWORK=off go -C $$d mod tidy -diff || { echo "run make tidy"; exit 1; }; done

# ---- charts -----------------------------------------------------------------------------------------------

# Outside the workspace: what Helm and Kubernetes require must not choose the versions of the product.
CHARTS_TEST = CHARTS_BIN=$(BIN) GOWORK=off go -C scripts/charts test -count=1 ./...

.PHONY: binaries charts charts-update dashboards
binaries:
	@mkdir -p $(BIN)
	@go build -ldflags='-s -w' -o $(BIN)/ $(COMMANDS)

charts: binaries dashboards ## Lint, render and test the Helm charts against the services; needs no cluster
	@echo "check: charts"
	@out=$$(git status --porcelain -- 'charts/*/files/dashboard.json'); test -z "$$out" || { echo "$$out"; echo "commit what make dashboards wrote"; exit 1; }
	@$(CHARTS_TEST)

# Twice: the services' print-config.txt go into the schemas, which the rest is rendered by.
charts-update: ## Write the charts' schemas, rendered manifests and the Compose file of the trial
	@$(CHARTS_TEST) -run Schemas -update
	@$(CHARTS_TEST) -run 'Schemas|Committed|READMEs|Compose' -update

DASHBOARD_TOOLS := scripts/dashboards/node_modules/.installed
$(DASHBOARD_TOOLS): scripts/dashboards/package-lock.json
	@command -v npm >/dev/null || { echo "the dashboards' library comes from npm: install Node.js with npm (apt-get install npm)"; exit 1; }
	@npm --prefix scripts/dashboards ci --no-audit --no-fund --loglevel=error
	@touch $@

dashboards: $(DASHBOARD_TOOLS) ## Write the Grafana dashboards of the charts
	@node scripts/dashboards/dashboards.mjs charts

# A release's version is that of the charts, of the charts in lab, and of the images that they name. KEY signs (KEYRING holds it).
PACKAGED = $(LAB_DIR)/charts
.PHONY: charts-package
charts-package: $(CLUSTER)/helm ## Package every chart: make charts-package VERSION=1.2.0 KEY=name KEYRING=file CHARTS=oci://ghcr.io/labplatform/charts
	@rm -rf $(PACKAGED) && mkdir -p $(PACKAGED) && cp -rL charts $(PACKAGED)/source
	@find $(PACKAGED)/source -name Chart.yaml -exec sed -i -E "s/\\b(v|appV)ersion: \"?$$(sed 's/\./[.]/g' VERSION)\"?/\\1ersion: \"$(VERSION)\"/" {} +
	@$(CLUSTER)/helm package $(patsubst %,$(PACKAGED)/source/%,lab $(SERVICES)) -d $(PACKAGED) \
	  $(if $(KEY),--sign --key "$(KEY)" --keyring "$(KEYRING)") >/dev/null
	@$(if $(CHARTS),for chart in $(PACKAGED)/*.tgz; do $(CLUSTER)/helm push $$chart $(CHARTS) $(PUSH) || exit 1; done,ls $(PACKAGED)/*.tgz)

# ---- images -----------------------------------------------------------------------------------------------

# make images REGISTRY=ghcr.io/labplatform VERSION=1.2.0 pushes an image and its bill of materials for each deployable, and of devstack
# for trials.
VERSION ?= $(shell git describe --tags --always 2>/dev/null || echo dev)
DEPLOYABLES = $(COMMANDS) ./scripts/devstack

$(BIN)/ko: scripts/images/go.mod
	@echo "building the builder of images (the first time on a machine this takes some minutes)"
	@mkdir -p $(BIN)
	@GOWORK=off GOBIN=$(BIN) go -C scripts/images install -ldflags='-s -w' github.com/google/ko
	@touch $@

$(BIN)/notices: scripts/tools/go.mod $(wildcard scripts/tools/notices/*.go)
	@mkdir -p $(BIN)
	@$(TOOLS) ./notices $(quiet)
	@touch $@

.PHONY: images images-test notices
notices: $(BIN)/notices ## Write the licence texts of what the programs are linked from, which the images carry: kodata/NOTICES.txt
	@$(BIN)/notices $(DEPLOYABLES)

# A kind cluster and a local Docker take images of their own platform alone. What was pushed: DIGESTS as values of charts/lab, IMAGES every reference.
PLATFORM ?= $(if $(filter kind.local ko.local,$(REGISTRY)),linux/$(shell go env GOARCH))
DIGESTS  ?= $(LAB_DIR)/digests.yaml
IMAGES   ?= $(LAB_DIR)/images.txt
images: $(BIN)/ko notices ## Build and push an image of every deployable: make images REGISTRY=ghcr.io/labplatform, or REGISTRY=kind.local
	@test -n "$(REGISTRY)" || { echo "say where to push: make images REGISTRY=ghcr.io/labplatform"; exit 1; }
	@mkdir -p $(dir $(DIGESTS)) $(dir $(IMAGES)); set -o pipefail; KO_DOCKER_REPO="$(REGISTRY)" VERSION="$(VERSION)" \
	  $(BIN)/ko build --base-import-paths --sbom=spdx --tags="$(VERSION)" --image-refs="$(IMAGES)" $(if $(PLATFORM),--platform=$(PLATFORM)) $(DEPLOYABLES) \
	  | tee /dev/stderr | scripts/images/digests.sh >$(DIGESTS)

images-test: $(BIN)/ko $(BIN)/notices ## Build every image for a registry of the test: contents, notices, size, two builds one digest
	@GOWORK=off go -C scripts/images test -count=1 -v ./...

# ko names images kind.local/… and loads them into the cluster itself.
.PHONY: kind
kind: $(BIN)/ko notices ## Create a kind cluster, load images and install the trial: needs Docker, kind, kubectl and helm
	@kind get clusters | grep -qx lab || kind create cluster --name lab
	@KO_DOCKER_REPO=kind.local KIND_CLUSTER_NAME=lab VERSION="$(VERSION)" $(BIN)/ko build --base-import-paths --sbom=none \
	  --platform=linux/$$(go env GOARCH) --tags="$(VERSION)" $(DEPLOYABLES)
	@helm --kube-context kind-lab upgrade --install lab charts/lab --set trial=true \
	  --set global.image.registry=kind.local --set-string global.image.tag="$(VERSION)" --wait --timeout 15m
	@echo "kubectl --context kind-lab port-forward service/gateway 8090, then http://127.0.0.1:8090/"

# ---- a cluster --------------------------------------------------------------------------------------------

KUBERNETES := $(CLUSTER)/kubernetes
KUBE_NAMES  = etcd kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubectl kubelet
KUBE_BUILD  = k8s.io/component-base/version
$(KUBERNETES): scripts/cluster/node/go.mod scripts/cluster/node/main.go
	@echo "building Kubernetes (the first time on a machine ten to fifteen minutes)"
	@mkdir -p $(CLUSTER)
	@version=$$(GOWORK=off go -C scripts/cluster/node list -m -f '{{.Version}}' k8s.io/kubernetes) && minor=$${version#v1.} && \
	 CGO_ENABLED=0 GOWORK=off go -C scripts/cluster/node build -o $@ -ldflags="-s -w -X $(KUBE_BUILD).gitVersion=$$version \
	   -X $(KUBE_BUILD).gitMajor=1 -X $(KUBE_BUILD).gitMinor=$${minor%%.*} -X $(KUBE_BUILD).gitTreeState=clean" . $(quiet)
	@for name in $(KUBE_NAMES); do ln -sf kubernetes $(CLUSTER)/$$name; done

$(CLUSTER)/helm: scripts/cluster/go.mod scripts/cluster/coredns/main.go
	@echo "building Helm and CoreDNS"
	@mkdir -p $(CLUSTER)
	@CGO_ENABLED=0 GOWORK=off GOBIN=$(CLUSTER) go -C scripts/cluster install -ldflags='-s -w' helm.sh/helm/v4/cmd/helm ./coredns $(quiet)
	@touch $@

.PHONY: cluster cluster-test cluster-check cluster-down cluster-tool
cluster-tool:
	@[ "$$(id -u)" = 0 ] || [ -n "$$KUBECONFIG" ] || { echo "a Kubernetes on this machine needs root: run make as root, or name a cluster by KUBECONFIG"; exit 1; }
	@CGO_ENABLED=0 GOWORK=off GOBIN=$(CLUSTER) go -C scripts/cluster install -ldflags='-s -w' . ./pod $(quiet)

cluster: cluster-tool $(KUBERNETES) $(CLUSTER)/helm $(BIN)/ko devstack ## Start Kubernetes here, without Docker, and install every chart one by one
	@$(CLUSTER)/cluster up

# make check leaves these two modules out: it would fetch all of Kubernetes. As it is built, or all is compiled once more.
cluster-check: $(BIN)/golangci-lint
	@echo "check: the cluster's own modules"
	@export CGO_ENABLED=0 GOWORK=off && for d in $(CLUSTER_MODULES); do go -C $$d mod tidy -diff && go -C $$d vet ./... && \
	  (cd $$d && $(BIN)/golangci-lint run --allow-parallel-runners ./...) || exit 1; done && go -C scripts/cluster test ./...

cluster-test: cluster-check cluster-tool $(KUBERNETES) $(CLUSTER)/helm $(BIN)/ko devstack ## From nothing: the same, upgrades under load, policies, kills. STEPS=upgrade,kill: these, on the one that runs
	@$(CLUSTER)/cluster test

cluster-down: cluster-tool ## End it; nothing is left
	@$(CLUSTER)/cluster down

# ---- tests ------------------------------------------------------------------------------------------------

# -race where goroutines meet: everything that ships. Tools and black-box tests run without it.
TOOLED = $(CURDIR)/proto $(CURDIR)/services $(wildcard $(CURDIR)/scripts/*)
ifdef SERVICE
# What a change of one deployable can break: its own module, the routes, who may do what, the black-box tests that are
# called TestRerun… for rerun, and the commands of its README.
OWN     = $(or $(filter $(CURDIR)/services/$(SERVICE) $(CURDIR)/$(filter gateway,$(SERVICE)),$(MODULES)),$(error there is no service $(SERVICE): name one of $(SERVICES)))
RACED   = $(sort $(OWN)/... $(CURDIR)/gateway/internal/areas $(CURDIR)/pkg/grpcserver)
# Kafka and Elasticsearch are started only for the services whose stores or callees need them.
ifndef LAB_PIPELINE
export LAB_PIPELINE := $(shell awk -v service=$(SERVICE) '/^- name:/ {name = $$3} \
  name == service && /(stores|callees):.*(kafka|elasticsearch|cdc|search)/ {needed = 1} \
  END {print needed || service == "gateway" ? "on" : "off"}' services/services.yaml)
endif
UNRACED = $(addprefix $(CURDIR)/,$(sort $(shell grep -rliE --include=*_test.go '^func Test$(SERVICE)' scripts/e2e | xargs -r -n1 dirname) scripts/e2e/apidoc scripts/e2e/authorization))
else
RACED   = $(addsuffix /...,$(filter-out $(TOOLED),$(MODULES)))
UNRACED = $(addsuffix /...,$(filter $(TOOLED),$(MODULES)))
endif

# make test DATABASE=mysql: on a real MySQL instead of MariaDB.
ifdef DATABASE
export LAB_DATABASE := $(DATABASE)
endif

.PHONY: test test-libreoffice test-counterparts test-documents test-generators test-long explore fuzz test-stores test-times chaos soak quiet drills bench
test: $(BIN)/gotestsum devstack $(if $(SERVICE),document documents) ## Run every test on real engines, or of one: make test SERVICE=rerun
	@scripts/test.sh "$(BIN)" "$(RACED)" "$(UNRACED)" "$(SERVICE)"

# The loop of a few seconds while one store or use case is written: engines, one package, the tests that are named.
.PHONY: test-one
test-one: devstack ## Run the tests of one package on real engines: make test-one PKG=./services/rerun/internal/store/mysql RUN=TestSaves
	@test -n "$(PKG)" || { echo "usage: make test-one PKG=./services/rerun/internal/store/mysql RUN=TestSaves"; exit 2; }
	@LAB_PIPELINE=$(or $(LAB_PIPELINE),off) $(BIN)/devstack engines -- go test -count=1 -run "$(RUN)" $(PKG)

# The agent with the real LibreOffice: two minutes. LAB_SOFFICE names another one than that which devstack fetches.
test-libreoffice: devstack ## Test the desktop client of external editing with the real LibreOffice
	@soffice=$${LAB_SOFFICE:-$$($(BIN)/devstack libreoffice)} && export LAB_SOFFICE="$$soffice" && \
	 go test -count=1 -run '^TestLibreOffice' ./scripts/agent && \
	 LAB_PIPELINE=off $(BIN)/devstack engines -- go test -count=1 -run '^TestExternalEditWithLibreOffice$$' ./scripts/e2e

DOCUMENTS = $(or $(LAB_DISTRIBUTIONS),$(LAB_DIR)/distributions)/documents
# Mails and messages through the Exim and the nginx of Debian: half a minute.
test-counterparts: devstack ## Test the channels of the task queue with a real mail server and a real proxy
	@counterparts=$${LAB_COUNTERPARTS:-$$($(BIN)/devstack counterparts)} && export LAB_COUNTERPARTS="$$counterparts" && \
	 go test -count=1 -run '^Test(Exim|Nginx)' ./services/taskqueue/internal/delivery/...

test-documents: ## Judge three hundred documents of other programs, fetched once
	@scripts/documents.sh "$(DOCUMENTS)"
	@LAB_FOREIGN_DOCUMENTS="$(DOCUMENTS)" go test -count=1 -v -run '^TestThreeHundredDocuments$$' ./services/externaledit/document

# Each generator is installed from its registry; one that cannot be is a line of the table that the test prints.
test-generators: platform ## Generate, compile and try clients of the API document in four languages
	@LAB_LONG_TESTS=1 LAB_DISTRIBUTIONS=$(or $(LAB_DISTRIBUTIONS),$(LAB_DIR)/distributions) go test -count=1 -v -timeout 30m -run '^TestClientsOfOtherGeneratorsCompileAndWork$$' ./scripts/e2e/apidoc

test-long: ## The same with fresh seeds, the long forms of crash tests and drills, deeper histories, and every parser fuzzed; takes a while
	@LAB_LONG_TESTS=1 TEST_TIMEOUT=80m $(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-libreoffice
	@$(MAKE) --no-print-directory test-counterparts
	@$(MAKE) --no-print-directory test-documents
	@$(MAKE) --no-print-directory explore
	@$(MAKE) --no-print-directory fuzz

# Without the race detector, which takes ten times as long. EXPLORE_DEPTH=7 takes ten times as long, and ten times the memory of 6.
explore: ## Check the rules of critical callouts in all histories of six events: make explore EXPLORE_DEPTH=5
	@EXPLORE_DEPTH=$(or $(EXPLORE_DEPTH),6) go test -count=1 -v -timeout 1h -run '^TestEveryShortHistoryKeepsThePromises$$' ./services/callout/internal/callout

# Minimizing each new input, by default for a minute, would take the whole time.
fuzz: ## Fuzz every parser of external input for a minute: make fuzz FUZZTIME=10m
	@git grep -noE '^func Fuzz[A-Za-z]+' -- '*_test.go' | while IFS=: read -r file line f; do f=$${f#func }; \
	  echo "== $$f"; (cd $$(dirname $$file) && go test -run '^$$' -fuzz "^$$f\$$" -fuzztime "$(or $(FUZZTIME),1m)" -fuzzminimizetime 20x .) || exit 1; done

# The stores and the migrations are what differs between databases.
STORES = $(foreach folder,$(wildcard services/*/internal/store/mysql services/*/migrations),./$(folder)/...)
test-stores: $(BIN)/gotestsum devstack ## Run the suites of stores and migrations alone: make test-stores DATABASE=mysql
	@LAB_PIPELINE=off scripts/test.sh "$(BIN)" "$(STORES) ./pkg/mysqldb/... ./pkg/outbox/... ./pkg/idempotency/... ./pkg/lab/activitylog/..." ""

test-times: ## The slowest packages of the last make test: make test-times TOP=30
	@scripts/test-times.sh "$(LAB_DIR)/test-results" "$(or $(TOP),30)"

chaos: ## Break a platform on purpose and judge it: make chaos MINUTES=10 SEED=1 FAULTS=kill-engine,silent PAGE=docs/reliability.md
	@mkdir -p $(BIN) && go build -o $(BIN)/chaos ./scripts/e2e/chaos
	@$(BIN)/chaos --minutes "$(or $(MINUTES),10)" --seed "$(or $(SEED),1)" --faults "$(or $(FAULTS),all)" --page "$(PAGE)"

soak: ## Have a laboratory live for long, and measure what grows: make soak MINUTES=60 PATIENTS=200000 PAGE=docs/reliability.md
	@mkdir -p $(BIN) && go build -o $(BIN)/chaos ./scripts/e2e/chaos
	@$(BIN)/chaos --minutes "$(or $(MINUTES),60)" --seed "$(or $(SEED),1)" --patients "$(or $(PATIENTS),200000)" --page "$(PAGE)"

quiet: ## Watch an idle platform for false alarms and for what grows: make quiet MINUTES=10, or HOURS=1, PAGE=docs/reliability.md
	@mkdir -p $(BIN) && go build -o $(BIN)/chaos ./scripts/e2e/chaos
	@$(BIN)/chaos --quiet --minutes "$(or $(if $(HOURS),$(shell echo $$(($(HOURS) * 60)))),$(MINUTES),10)" --page "$(PAGE)"

drills: ## Lose every store, bring it back by the handbook, and take the time: make drills PAGE=docs/reliability.md
	@LAB_PAGE="$(abspath $(PAGE))" go test ./scripts/e2e/restore -v -count=1 -run TestEveryStoreIsLostAloneAndComesBack -timeout 30m

bench: devstack ## Measure: make bench NAME=taskqueue (gateway, labjson, …, all), QUICK=1 for a short run
	@go build -ldflags='-s -w' -o $(BIN)/ $(COMMANDS)
	@go build -o $(BIN)/bench ./scripts/bench
	@QUICK="$(QUICK)" $(BIN)/bench run --name "$(or $(NAME),all)"
