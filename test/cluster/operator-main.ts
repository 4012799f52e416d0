/** The operator as a process of a cluster whose pods are processes of this machine. */
import { main } from '../../operator/main.ts'
import { LOCAL_PODS } from './local-pods.ts'

await main(LOCAL_PODS)
