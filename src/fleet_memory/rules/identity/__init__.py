"""Who a bearer is: how tokens are spelt and admitted, and who the claims of an issuer name."""
