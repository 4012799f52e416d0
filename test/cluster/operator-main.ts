/** The operator as a process, for a cluster whose pods are local processes. */
import { main } from '../../operator/main.ts'
import { LOCAL_PODS } from './local-pods.ts'

await main(LOCAL_PODS)
