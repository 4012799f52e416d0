#!/usr/bin/env node
/** The tool `gw`, for whoever starts it from its source: the same as what is installed. */
import './gw.js'
