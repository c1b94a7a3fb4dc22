#!/bin/sh
# Stands for a program that deploys a service: deploy.sh --env ENV -- SERVICE
set -eu
env=$2
service=$4
for step in build push "switch $env"; do
	echo "$service: $step"
done
