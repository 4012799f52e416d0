#!/usr/bin/env bash
# prepare.sh GO FOLDER: this program next to a copy of KEDA with one scaler. The others need the clients of every cloud.
set -euo pipefail
go=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)

cp "$here"/{go.mod,go.sum,main.go} "$folder"
read -r module version < <(sed -nE 's/^\s*(github.com\/kedacore\/keda\/v2) (v\S+).*/\1 \2/p' "$here/go.mod")
cd "$folder"
# By its hash, because a folder that replaces a module is not checked.
"$go" mod download -json "$module@$version" > keda.json
sum=$(sed -nE 's/.*"Sum": "(.*)",?/\1/p' keda.json)
grep -qxF "$module $version $sum" go.sum
cp -r "$(sed -nE 's/.*"Dir": "(.*)",?/\1/p' keda.json)" keda
chmod -R u+w keda
find keda/pkg/scalers -maxdepth 1 -name '*.go' ! -name metrics_api_scaler.go ! -name scaler.go -delete
# Only for KEDA's own tests.
rm keda/pkg/util/ginkgo_reporter.go
# A constant from the file of another scaler.
printf 'package scalers\n\nconst externalMetricType = "External"\n' > keda/pkg/scalers/external.go
"$go" mod edit -replace "$module=./keda"
