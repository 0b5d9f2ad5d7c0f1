package main

import "fmt"

// gateway returns the base URL of the platform: the address of its Service, which the node routes to.
func (c cluster) gateway() (string, error) {
	var service struct {
		Spec struct {
			ClusterIP string `json:"clusterIP"`
		} `json:"spec"`
	}
	if err := c.read(&service, "-n", c.space, "service", "gateway"); err != nil {
		return "", err
	}
	return "http://" + service.Spec.ClusterIP + ":8090", nil
}

func (c cluster) printAddresses() error {
	gateway, err := c.gateway()
	if err != nil {
		return err
	}
	fmt.Printf(`
The platform runs in Kubernetes.

  public REST   %s      (with the cookie sessionid=demo-lab-user)
  kubectl       KUBECONFIG=%s %s -n %s get pods
  helm          %s
  what it says  %s

make cluster-test tests it, make cluster-down ends all of it.
`, gateway, c.kubeconfig, c.node.Program("kubectl"), c.space, c.node.Program("helm"), c.node.Log("*"))
	return nil
}
