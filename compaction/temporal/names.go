package temporal

import "github.com/shardcat/shardcat/compaction/internal/savedplan"

// DefaultQueue begins the names of the task queues.
const DefaultQueue = "shardcat"

// Names of workflows, as a schedule or another client starts them.
const (
	TickWorkflow    = "shardcat-tick"
	CompactWorkflow = "shardcat-compact"
)

// WorkflowID is the id of a table's one workflow.
func WorkflowID(table string) string { return "shardcat-compact-" + table }

// ScheduleID is the id of a table's schedule.
func ScheduleID(table string) string { return "shardcat-" + table }

// classQueue is the task queue of a size class; the one without a class is for workflows and plans.
func classQueue(queue string, class savedplan.SizeClass) string { return queue + "-" + class.String() }
