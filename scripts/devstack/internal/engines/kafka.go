package engines

import (
	"context"
	"crypto/rand"
	_ "embed" // for the broker's configuration file
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

//go:embed kafka.properties
var kafkaTemplate string

const kafkaHeapMiB = 384

// Kafka returns one broker. Its configuration file is next to its data directory.
func Kafka(place Place, broker KafkaBroker, java install.Java) Engine {
	run := jvm{
		heapMiB:   kafkaHeapMiB,
		flags:     kafkaFlags(),
		classPath: kafkaClassPath(java),
		main:      "kafka.Kafka",
		args:      []string{place.properties()},
	}
	return Engine{
		Spec:    process.Spec{Name: "kafka", Command: run.command(java.Program), LogFile: place.Log},
		Prepare: func(ctx context.Context) error { return prepareKafka(ctx, place, broker, java) },
		Ready:   func(ctx context.Context) error { return pingKafka(ctx, local(place.Port)) },
	}
}

// KafkaBroker is what a broker needs in addition to its own port.
type KafkaBroker struct {
	Advertised  string   // host:port that the broker advertises to clients; "": its own port
	Cluster     string   // "": a new one
	Controllers []string // controller addresses of all brokers of the cluster, as host:port
	Number      int      // index of this broker in Controllers, from 0
}

// voters returns the value of the setting controller.quorum.voters.
func (b KafkaBroker) voters() string {
	voters := make([]string, len(b.Controllers))
	for i, address := range b.Controllers {
		voters[i] = fmt.Sprintf("%d@%s", i+1, address)
	}
	return strings.Join(voters, ",")
}

// properties returns the path of the configuration file of an engine that has one.
func (p Place) properties() string { return p.Data + ".properties" }

// prepareKafka writes the configuration, and formats the data folder at the first start. It formats a neighbouring
// folder and renames it, so that a crash leaves no half-formatted data.
func prepareKafka(ctx context.Context, place Place, broker KafkaBroker, java install.Java) error {
	if err := writeKafkaProperties(place.properties(), place.Data, place.Port, broker); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(place.Data, "meta.properties")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	work := place.Data + ".new"
	if err := errors.Join(os.RemoveAll(work), os.RemoveAll(place.Data)); err != nil {
		return err
	}
	if broker.Cluster == "" {
		broker.Cluster = ClusterID()
	}
	file := work + ".properties"
	if err := writeKafkaProperties(file, work, place.Port, broker); err != nil {
		return err
	}
	defer os.Remove(file)
	format := jvm{heapMiB: 128, flags: kafkaFlags(), classPath: kafkaClassPath(java), main: "kafka.tools.StorageTool",
		args: []string{"format", "--cluster-id", broker.Cluster, "--config", file}}.command(java.Program)
	cmd := exec.CommandContext(ctx, format[0], format[1:]...)
	process.DieWithParent(cmd)
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("format %s: %w\n%s", place.Data, err, output)
	}
	return os.Rename(work, place.Data)
}

func writeKafkaProperties(file, data string, port int, broker KafkaBroker) error {
	advertised := broker.Advertised
	if advertised == "" {
		advertised = local(port)
	}
	copies := len(broker.Controllers)
	text := strings.NewReplacer(
		"${broker}",
		local(port),
		"${advertised}",
		advertised,
		"${data}",
		data,
		"${id}",
		strconv.Itoa(broker.Number+1),
		"${controller}",
		broker.Controllers[broker.Number],
		"${voters}",
		broker.voters(),
		"${copies}",
		strconv.Itoa(copies),
		"${insync}",
		strconv.Itoa(copies/2+1),
	).
		Replace(kafkaTemplate)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// ClusterID returns a random UUID in Kafka's spelling: 22 characters of base64, the first not a dash.
func ClusterID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails since Go 1.24
	id[0] &= 0x7f
	return base64.RawURLEncoding.EncodeToString(id)
}

// pingKafka requests metadata and succeeds once the response names a broker. From then on topics can be created.
func pingKafka(ctx context.Context, addr string) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer connection.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = connection.SetDeadline(deadline)
	}
	const metadata, version, correlation, nobody, noTopics = 3, 1, 7, 0xffff, 0
	request := binary.BigEndian.AppendUint16(nil, metadata)
	request = binary.BigEndian.AppendUint16(request, version)
	request = binary.BigEndian.AppendUint32(request, correlation)
	request = binary.BigEndian.AppendUint16(request, nobody)
	request = binary.BigEndian.AppendUint32(request, noTopics)
	if _, err := connection.Write(
		append(binary.BigEndian.AppendUint32(nil, uint32(len(request))), request...),
	); err != nil {
		return err
	}
	var answer struct{ Size, Correlation, Brokers uint32 }
	if err := binary.Read(connection, binary.BigEndian, &answer); err != nil {
		return fmt.Errorf("kafka closes the connection: %w", err)
	}
	_, _ = io.CopyN(io.Discard, connection, int64(answer.Size)-8)
	if answer.Correlation != correlation || answer.Brokers == 0 {
		return errors.New("the broker has not joined its cluster yet")
	}
	return nil
}
