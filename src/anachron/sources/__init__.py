"""Sources of facts. Each knows where its data come from and refuses data it cannot vouch for."""
