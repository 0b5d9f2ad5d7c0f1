package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/labplatform/labplatform/scripts/cluster/internal/node"
)

// deployable is a row of services/services.yaml.
type deployable struct {
	Name     string   `json:"name"`
	GRPC     int      `json:"grpc"`
	Admin    int      `json:"admin"`
	Callees  []string `json:"callees"`
	Stores   []string `json:"stores"`
	Internal bool     `json:"internal"`
}

// storePorts are the ports of the stores by their names in services.yaml.
var storePorts = map[string]int{
	"mysql":         3306,
	"redis":         6379,
	"mongo":         27017,
	"objects":       objectsPort,
	"kafka":         9092,
	"sentinel":      sentinelPort,
	"kafka-connect": 8083,
	"elasticsearch": 9200,
}

// stranger is the name of a pod that no policy selects.
const stranger = "stranger"

// strangersPort is a port on which the stranger listens. Only a policy of the connecting pod can prevent a connection
// to it.
const strangersPort = 7777

// matrix lists which pod may connect to which address. Connections come from a pod with the labels of the row.
type matrix struct {
	all     map[string]deployable
	rows    []string
	columns []string // host:port
}

func (c cluster) matrix() (matrix, error) {
	text, err := os.ReadFile(filepath.Join(c.root, "services/services.yaml"))
	if err != nil {
		return matrix{}, err
	}
	var list []deployable
	if err := yaml.Unmarshal(text, &list); err != nil {
		return matrix{}, err
	}
	m := matrix{all: map[string]deployable{}, rows: []string{stranger, "monitoring"}}
	for _, d := range list {
		m.all[d.Name] = d
		m.rows = append(m.rows, d.Name)
		if d.GRPC != 0 {
			m.columns = append(m.columns, d.Name+":"+strconv.Itoa(d.GRPC))
		} else {
			m.columns = append(m.columns, "gateway:8090", "gateway:8091")
		}
		m.columns = append(m.columns, d.Name+":"+strconv.Itoa(d.Admin))
	}
	m.rows = append(m.rows, migrating, "rerun-test")
	for _, store := range slices.Sorted(maps.Keys(storePorts)) {
		m.columns = append(m.columns, store+":"+strconv.Itoa(storePorts[store]))
	}
	m.columns = append(m.columns, stranger+":"+strconv.Itoa(strangersPort), "kubernetes.default:443",
		"kube-dns.kube-system:53", node.NodeDNS+":53", node.NodeDNS+":9353")
	return m, nil
}

// allowed reports whether services.yaml and the docs, not the charts, allow the connection.
func (m matrix) allowed(row, column string) bool {
	to, text, _ := strings.Cut(column, ":")
	port, _ := strconv.Atoi(text)
	from := m.all[strings.TrimSuffix(strings.TrimSuffix(row, "-migrate"), "-test")]
	callee, isDeployable := m.all[to]
	switch {
	case isDeployable && row == to+"-test":
		return true // helm test connects to every port
	case isDeployable && port == callee.Admin:
		return row == "monitoring"
	case column == "gateway:8090":
		return row == stranger || row == "monitoring" || strings.HasSuffix(row, "-test") // clients connect from anywhere
	case column == "gateway:8091":
		return row == "taskqueue"
	case isDeployable && row == "gateway":
		return !callee.Internal
	case isDeployable:
		return row == from.Name && slices.Contains(from.Callees, to)
	case row == stranger || row == "monitoring" || strings.HasSuffix(row, "-test"):
		return true // no policy selects them
	case port == 53:
		return true // every pod resolves names
	case to == "sentinel":
		return from.Name == "rerun" // only the values of rerun name sentinels
	}
	for _, store := range from.Stores {
		if to == store || to == "kafka-"+store {
			return true
		}
	}
	return false
}

// checkPolicies connects from every row to every column and prints the result.
func checkPolicies(ctx context.Context, c cluster) error {
	m, err := c.matrix()
	if err != nil {
		return err
	}
	defer c.stopDialling()
	if err := errors.Join(c.migrationPolicy(), c.startDialling(m)); err != nil {
		return err
	}
	found := map[string]map[string]string{}
	for _, row := range m.rows {
		if found[row], err = c.dialled(ctx, row); err != nil {
			return err
		}
	}
	return m.judge(found)
}

// migrating is the Job whose policy is tested.
const migrating = "rerun-migrate"

// migrationPolicy applies a migration's policy again, because Helm deletes it with the Job.
func (c cluster) migrationPolicy() error {
	hooks, err := c.helm("-n", c.space, "get", "hooks", strings.TrimSuffix(migrating, "-migrate"))
	if err != nil {
		return err
	}
	for manifest := range strings.SplitSeq(hooks, "\n---\n") {
		if strings.Contains(manifest, "kind: NetworkPolicy") {
			return c.apply(manifest)
		}
	}
	return fmt.Errorf("%s has no NetworkPolicy", migrating)
}

func (c cluster) stopDialling() {
	for _, what := range [][]string{
		{"namespace/monitoring"},
		{"-n", c.space, "networkpolicy/" + migrating, "service/" + stranger},
		{"-n", c.space, "pod", "-l", "lab/dials", "--grace-period=0", "--force"}} {
		if _, err := c.kubectl(append([]string{"delete"}, what...)...); err != nil {
			fmt.Println(err)
		}
	}
}

func (c cluster) startDialling(m matrix) error {
	items := []object{{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "monitoring",
		"labels": object{"pod-security.kubernetes.io/enforce": "restricted"}}}}
	items = append(
		items,
		object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": stranger, "namespace": c.space},
			"spec": object{"clusterIP": "None", "publishNotReadyAddresses": true, "ports": []object{{"port": strangersPort}},
				"selector": object{"app.kubernetes.io/name": stranger}}},
	)
	for _, row := range m.rows {
		items = append(items, c.dialler(row, m.columns))
	}
	list, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return err
	}
	return c.apply(string(list))
}

// dialler returns a pod that connects to every column. It is never ready, so that no Service routes to it.
func (c cluster) dialler(row string, columns []string) object {
	namespace := c.space
	if row == "monitoring" {
		namespace = row
	}
	args := []string{"dial", "--listen=" + strconv.Itoa(strangersPort)}
	for _, column := range columns {
		host, port, _ := strings.Cut(column, ":")
		if !strings.Contains(host, ".") {
			host += "." + c.space
		}
		if host != node.NodeDNS {
			host += ".svc.cluster.local"
		}
		args = append(args, host+":"+port)
	}
	return object{"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": "dials-" + row, "namespace": namespace,
			"labels": object{"app.kubernetes.io/name": row, "lab/dials": "true"}},
		"spec": object{
			"restartPolicy":                 "Never",
			"automountServiceAccountToken":  false,
			"terminationGracePeriodSeconds": 0,
			"securityContext": object{
				"runAsNonRoot":   true,
				"runAsUser":      65532,
				"seccompProfile": object{"type": "RuntimeDefault"},
			},
			"containers": []object{{"name": "dials", "image": "registry.k8s.io/pod:local", "args": args,
				"readinessProbe":  object{"tcpSocket": object{"port": 1}},
				"securityContext": object{"allowPrivilegeEscalation": false, "capabilities": object{"drop": []string{"ALL"}}}}},
		}}
}

// dialled reads the results of a pod, one per address.
func (c cluster) dialled(ctx context.Context, row string) (map[string]string, error) {
	namespace := c.space
	if row == "monitoring" {
		namespace = row
	}
	found := map[string]string{}
	err := await(ctx, time.Minute, func() error {
		out, err := c.kubectl("-n", namespace, "logs", "dials-"+row)
		if err == nil && !strings.Contains(out, "done") {
			err = errors.New("not done: " + out)
		}
		for line := range strings.Lines(out) {
			if address, state, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				host, port, _ := strings.Cut(address, ":")
				host = strings.TrimSuffix(strings.TrimSuffix(host, ".svc.cluster.local"), "."+c.space)
				found[host+":"+port] = state
			}
		}
		return err
	})
	return found, err
}

// judge prints the matrix: ● is connected, · is dropped, ! marks a wrong result. It returns an error if there is one.
func (m matrix) judge(found map[string]map[string]string) error {
	var wrong []string
	pairs, open := 0, 0
	for i, column := range m.columns {
		fmt.Printf("           %s%s\n", strings.Repeat("│ ", i), column)
	}
	for _, row := range m.rows {
		line := ""
		for _, column := range m.columns {
			state := found[row][column]
			reaches := state == "open" || state == "refused" // no listener, but no policy forbids it
			pairs++
			mark := map[bool]string{true: "●", false: "·"}[reaches]
			if reaches {
				open++
			}
			if reaches != m.allowed(row, column) || state == "" {
				mark += "!"
				wrong = append(wrong, fmt.Sprintf("%s → %s is %q", row, column, state))
			} else {
				mark += " "
			}
			line += mark
		}
		fmt.Printf("           %s %s\n", line, row)
	}
	fmt.Printf("           %d pairs, %d open, %d otherwise than services.yaml says\n", pairs, open, len(wrong))
	if len(wrong) > 0 {
		return errors.New("the policies do not hold: " + strings.Join(wrong, "; "))
	}
	return nil
}
