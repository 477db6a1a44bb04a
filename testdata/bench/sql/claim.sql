SELECT * FROM raisin_inventory_claim('tickets', 1, 1000000000000);
