module gw.test/programs/kube-score

go 1.24.0
