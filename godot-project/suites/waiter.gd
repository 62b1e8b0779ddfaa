## A resource whose getter waits for the job that reads it.
extends Resource

var job: FastVariantJob
## The error of the result that the getter was given; −1 if it did not run.
var answer := -1

@export var value: int:
	get:
		if job:
			answer = job.wait().error
		return 7
