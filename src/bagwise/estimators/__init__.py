"""What the models are built from: the contract, the parameters, one class against the rest."""
