package main

import "slices"

// rows is the table: a group for each package whose code is changed.
func rows() []Row {
	return slices.Concat(
		a2aRows(),
		adminRows(),
		apiRows(),
		approvalRows(),
		authRows(),
		boundRows(),
		callerRows(),
		checkpointRows(),
		copyRows(),
		credentialRows(),
		damageRows(),
		decidingRows(),
		dialectRows(),
		engineRows(),
		eventRows(),
		heldRows(),
		keyRows(),
		cardRows(),
		grpcRows(),
		logRows(),
		plannerRows(),
		pushRows(),
		requestRows(),
		runRows(),
		storeRows(),
		taskRows(),
		toolCallRows(),
		toolRows(),
		turnsRows(),
		strictjsonRows(),
		v03Rows(),
		visibleRows(),
		webhookRows(),
	)
}
