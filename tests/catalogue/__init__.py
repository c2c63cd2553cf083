"""The catalogue of wordings: what every command says where something is wrong."""
