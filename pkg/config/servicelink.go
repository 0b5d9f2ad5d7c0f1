package config

import "regexp"

// Names and values of the variables that Kubernetes injects into every pod for each Service of the namespace.
// For a Service named gateway, GATEWAY_PORT is tcp://10.0.0.7:8090, which looks like a setting of the gateway.
var (
	linkName = regexp.MustCompile(
		`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`,
	)
	linkPort  = regexp.MustCompile(`_PORT$`)
	linkValue = regexp.MustCompile(`^(tcp|udp|sctp)://`)
)

// isServiceLink reports whether Kubernetes injected the variable.
func isServiceLink(key, value string) bool {
	return linkName.MatchString(key) || linkPort.MatchString(key) && linkValue.MatchString(value)
}
