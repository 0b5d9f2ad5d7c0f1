package broker

import (
	"fmt"

	"github.com/IBM/sarama"
)

// retirePredecessor removes the previous process with the same name from the consumer group. A crashed container is
// restarted under the same name, and until the old session expires, its partitions would stay assigned to the dead
// process.
func (g *Group) retirePredecessor() error {
	admin, err := g.Config.admin("cdc-predecessor")
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }()
	groups, err := admin.DescribeConsumerGroups([]string{g.Config.Group})
	if err != nil {
		return fmt.Errorf("ask who is in the group: %w", err)
	}
	leave := &sarama.LeaveGroupRequest{Version: leaveVersion, GroupId: g.Config.Group}
	for _, group := range groups {
		if group.Err != sarama.ErrNoError && group.Err != sarama.ErrGroupIDNotFound {
			return fmt.Errorf("ask who is in the group: %w", group.Err)
		}
		for id, member := range group.Members {
			if member.ClientId == consumerID(g.Name) {
				leave.Members = append(leave.Members, sarama.MemberIdentity{MemberId: id})
			}
		}
	}
	if len(leave.Members) == 0 {
		return nil
	}
	coordinator, err := admin.Coordinator(g.Config.Group)
	if err != nil {
		return fmt.Errorf("find the group's coordinator: %w", err)
	}
	answer, err := coordinator.LeaveGroup(leave)
	if err != nil {
		return fmt.Errorf("retire the previous process: %w", err)
	}
	if answer.Err != sarama.ErrNoError {
		return fmt.Errorf("retire the previous process: %w", answer.Err)
	}
	g.Log.Info("the process before this one is retired from the group", "members", len(leave.Members))
	return nil
}

// leaveVersion is the first LeaveGroup version in which a client can remove another member.
const leaveVersion = 4
